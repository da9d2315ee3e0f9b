// Package killed produces and consumes with franz-go while somebody kills the brokers of KGO_SEEDS in turn.
package killed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 6
	// Records come at a steady pace, so that some are under way whenever a broker dies.
	perTick = 20
	tick    = 10 * time.Millisecond
	// How long is waited for what is on its way when the killing has ended the last time.
	patience = 2 * time.Minute
)

func client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(os.Getenv("KGO_SEEDS"), ",")...),
		kgo.UnknownTopicRetries(-1), kgo.MetadataMinAge(50*time.Millisecond), kgo.RetryTimeout(patience))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestEveryRecordIsStoredOnceAndComesToTheGroup is about what a client was told, so it checks every promise, too.
func TestEveryRecordIsStoredOnceAndComesToTheGroup(t *testing.T) {
	records, err := strconv.Atoi(os.Getenv("KGO_TEST_RECORDS"))
	if err != nil {
		t.Fatal("KGO_TEST_RECORDS is the number of records")
	}
	topic := fmt.Sprintf("killed-%d", time.Now().UnixNano())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	producer := client(t, kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(100_000), kgo.ProducerLinger(0))
	create(t, producer, topic)

	group := follow(ctx, t, topic, 2)
	produce(t, producer, records)
	group.await(t, records)
	seen := readAll(ctx, t, topic)
	for key, times := range seen {
		if times != 1 {
			t.Errorf("record %s is stored %d times", key, times)
		}
	}
	if len(seen) != records {
		t.Errorf("%d records are stored, %d were acknowledged", len(seen), records)
	}
}

func create(t *testing.T, c *kgo.Client, topic string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err := kadm.NewClient(c).CreateTopic(ctx, partitions, 3, map[string]*string{"min.insync.replicas": kadm.StringPtr("2")}, topic)
		cancel()
		// The one who was to answer may have been killed after it was done.
		if err == nil || strings.Contains(err.Error(), "TOPIC_ALREADY_EXISTS") {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// produce waits for every promise: none may fail, and the offsets of a partition follow each other.
func produce(t *testing.T, c *kgo.Client, records int) {
	t.Helper()
	var mutex sync.Mutex
	next := map[int32]int64{}
	pace := time.NewTicker(tick)
	defer pace.Stop()
	for i := range records {
		if i%perTick == 0 {
			<-pace.C
		}
		key := []byte(strconv.Itoa(i))
		c.Produce(context.Background(), &kgo.Record{Key: key, Value: make([]byte, 100)}, func(r *kgo.Record, err error) {
			mutex.Lock()
			defer mutex.Unlock()
			if err != nil {
				t.Errorf("record %s was refused: %v", key, err)
				return
			}
			if r.Offset != next[r.Partition] {
				t.Errorf("record %s is at %d of partition %d, expected at %d", key, r.Offset, r.Partition, next[r.Partition])
			}
			next[r.Partition] = r.Offset + 1
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatalf("not all records were answered: %v", err)
	}
}

// following is a group and what came to it. A record may come again after a member's broker died, but must come.
type following struct {
	mutex sync.Mutex
	keys  map[string]bool
}

func follow(ctx context.Context, t *testing.T, topic string, members int) *following {
	t.Helper()
	f := &following{keys: map[string]bool{}}
	for range members {
		member := client(t, kgo.ConsumeTopics(topic), kgo.ConsumerGroup(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.FetchMaxWait(500*time.Millisecond))
		go func() {
			for ctx.Err() == nil {
				// That the coordinator died is told here, too; the client looks for the new one by itself.
				fetches := member.PollFetches(ctx)
				f.mutex.Lock()
				fetches.EachRecord(func(r *kgo.Record) { f.keys[string(r.Key)] = true })
				f.mutex.Unlock()
			}
		}()
	}
	return f
}

func (f *following) await(t *testing.T, records int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		f.mutex.Lock()
		n := len(f.keys)
		f.mutex.Unlock()
		if n == records {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d records came to the group", n, records)
		}
	}
}

// readAll reads every partition from its beginning to the end that it has now, and counts the keys.
func readAll(ctx context.Context, t *testing.T, topic string) map[string]int {
	t.Helper()
	reader := client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	left := map[int32]int64{}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		ends, err := kadm.NewClient(reader).ListEndOffsets(ctx, topic)
		if err = errors.Join(err, ends.Error()); err == nil && len(ends[topic]) == partitions {
			ends.Each(func(o kadm.ListedOffset) { left[o.Partition] = o.Offset })
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	read := map[int32]int64{}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for unread(read, left) {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("read up to %v of %v", read, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			seen[string(r.Key)]++
			read[r.Partition] = r.Offset + 1
		})
	}
	return seen
}

func unread(read, ends map[int32]int64) bool {
	for partition, end := range ends {
		if read[partition] < end {
			return true
		}
	}
	return false
}
