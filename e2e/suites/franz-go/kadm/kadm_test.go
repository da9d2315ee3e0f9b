// Package kadm calls what franz-go's admin client offers against the brokers of KGO_SEEDS, with KGO_TEST_RF replicas. Its
// own tests (of that package) ask no broker.
package kadm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type admin struct {
	*kadm.Client
	t        *testing.T
	ctx      context.Context
	topic    string
	replicas int
}

// begin makes a topic of three partitions with ten records in the first.
func begin(t *testing.T) admin {
	t.Helper()
	replicas, err := strconv.Atoi(os.Getenv("KGO_TEST_RF"))
	if err != nil {
		t.Fatal("KGO_TEST_RF is the number of replicas")
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(os.Getenv("KGO_SEEDS"), ",")...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.UnknownTopicRetries(-1), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	a := admin{kadm.NewClient(client), t, ctx, fmt.Sprintf("kadm-%s-%d", t.Name(), time.Now().UnixNano()), replicas}
	created, err := a.CreateTopic(ctx, 3, int16(replicas), map[string]*string{"retention.ms": kadm.StringPtr("3600000")}, a.topic)
	a.must(err)
	if created.NumPartitions != 3 || int(created.ReplicationFactor) != replicas || created.ID == (kadm.TopicID{}) {
		t.Fatalf("created %+v", created)
	}
	for i := range 10 {
		a.must(client.ProduceSync(ctx, &kgo.Record{Topic: a.topic, Value: []byte(strconv.Itoa(i))}).FirstErr())
	}
	return a
}

func (a admin) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a admin) refused(want *kerr.Error, err error) {
	a.t.Helper()
	if !errors.Is(err, want) {
		a.t.Errorf("got %v, not %v", err, want)
	}
}

func (a admin) equal(what string, got, want any) {
	a.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		a.t.Errorf("%s: %v, not %v", what, got, want)
	}
}

func TestTopics(t *testing.T) {
	a := begin(t)
	_, err := a.CreateTopic(a.ctx, 1, int16(a.replicas), nil, a.topic)
	a.refused(kerr.TopicAlreadyExists, err)
	_, err = a.CreateTopic(a.ctx, 1, int16(a.replicas+9), nil, a.topic+"-wide")
	a.refused(kerr.InvalidReplicationFactor, err)
	checked, err := a.ValidateCreateTopics(a.ctx, 2, int16(a.replicas), nil, a.topic+"-checked")
	a.must(err)
	a.must(checked.Error())
	listed, err := a.ListTopics(a.ctx)
	a.must(err)
	a.equal("a check makes nothing", listed.Has(a.topic+"-checked"), false)
	a.equal("partitions", len(listed[a.topic].Partitions), 3)
	for _, p := range listed[a.topic].Partitions {
		a.equal("replicas", len(p.Replicas), a.replicas)
		a.equal("in sync", len(p.ISR), a.replicas)
	}
	grown, err := a.CreatePartitions(a.ctx, 2, a.topic)
	a.must(err)
	a.must(grown.Error())
	same, err := a.UpdatePartitions(a.ctx, 5, a.topic)
	a.must(err)
	a.refused(kerr.InvalidPartitions, same[a.topic].Err)
	more, err := a.ValidateUpdatePartitions(a.ctx, 7, a.topic)
	a.must(err)
	a.must(more.Error())
	deleted, err := a.DeleteTopics(a.ctx, a.topic, a.topic+"-none")
	a.must(err)
	a.must(deleted[a.topic].Err)
	a.refused(kerr.UnknownTopicOrPartition, deleted[a.topic+"-none"].Err)
}

func TestConfigs(t *testing.T) {
	a := begin(t)
	value := func(key string) string {
		a.t.Helper()
		described, err := a.DescribeTopicConfigs(a.ctx, a.topic)
		a.must(err)
		on, err := described.On(a.topic, nil)
		a.must(err)
		for _, c := range on.Configs {
			if c.Key == key {
				return c.MaybeValue()
			}
		}
		return ""
	}
	a.equal("as created", value("retention.ms"), "3600000")
	altered, err := a.AlterTopicConfigs(a.ctx, []kadm.AlterConfig{
		{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("60000")},
		{Op: kadm.AppendConfig, Name: "cleanup.policy", Value: kadm.StringPtr("compact")},
	}, a.topic)
	a.must(err)
	a.must(altered[0].Err)
	a.equal("set", value("retention.ms"), "60000")
	a.equal("appended", value("cleanup.policy"), "delete,compact")
	wrong, err := a.ValidateAlterTopicConfigs(a.ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("x")}}, a.topic)
	a.must(err)
	a.refused(kerr.InvalidConfig, wrong[0].Err)
	replaced, err := a.AlterTopicConfigsState(a.ctx, []kadm.AlterConfig{{Name: "segment.bytes", Value: kadm.StringPtr("2000000")}}, a.topic)
	a.must(err)
	a.must(replaced[0].Err)
	a.equal("what is not stated is reset", value("retention.ms"), "604800000")
	brokers, err := a.DescribeBrokerConfigs(a.ctx)
	a.must(err)
	for _, b := range brokers {
		a.must(b.Err)
	}
	kinds, err := a.ListConfigResources(a.ctx, kadm.ConfigResourceTopic)
	a.must(err)
	found := false
	for _, r := range kinds.Resources {
		found = found || r.Name == a.topic
	}
	a.equal("listed", found, true)
}

func TestOffsets(t *testing.T) {
	a := begin(t)
	at := func(listed kadm.ListedOffsets, err error) int64 {
		a.t.Helper()
		a.must(err)
		a.must(listed.Error())
		o, _ := listed.Lookup(a.topic, 0)
		return o.Offset
	}
	a.equal("start", at(a.ListStartOffsets(a.ctx, a.topic)), 0)
	a.equal("end", at(a.ListEndOffsets(a.ctx, a.topic)), 10)
	a.equal("committed", at(a.ListCommittedOffsets(a.ctx, a.topic)), 10)
	a.equal("newest", at(a.ListMaxTimestampOffsets(a.ctx, a.topic)) >= 0, true)
	a.equal("after the beginning of time", at(a.ListOffsetsAfterMilli(a.ctx, 1, a.topic)), 0)
	a.equal("local start", at(a.ListLocalLogStartOffsets(a.ctx, a.topic)), 0)
	before := kadm.Offsets{}
	before.Add(kadm.Offset{Topic: a.topic, Partition: 0, At: 4})
	cut, err := a.DeleteRecords(a.ctx, before)
	a.must(err)
	a.must(cut.Error())
	a.equal("start after deletion", at(a.ListStartOffsets(a.ctx, a.topic)), 4)
	beyond := kadm.Offsets{}
	beyond.Add(kadm.Offset{Topic: a.topic, Partition: 0, At: 99})
	cut, err = a.DeleteRecords(a.ctx, beyond)
	a.must(err)
	refused, _ := cut.Lookup(a.topic, 0)
	a.refused(kerr.OffsetOutOfRange, refused.Err)
	var asked kadm.OffsetForLeaderEpochRequest
	asked.Add(a.topic, 0, 0)
	ends, err := a.OffsetForLeaderEpoch(a.ctx, asked)
	a.must(err)
	a.equal("end of the first epoch", ends[a.topic][0].EndOffset, 10)
}

func TestGroups(t *testing.T) {
	a := begin(t)
	group := a.topic
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: a.topic, Partition: 0, At: 3, LeaderEpoch: -1, Metadata: "m"})
	offsets.Add(kadm.Offset{Topic: a.topic, Partition: 1, At: 0, LeaderEpoch: -1})
	a.must(a.CommitAllOffsets(a.ctx, group, offsets))
	fetched, err := a.FetchOffsets(a.ctx, group)
	a.must(err)
	one, _ := fetched.Lookup(a.topic, 0)
	a.equal("committed", fmt.Sprintf("%d %s", one.At, one.Metadata), "3 m")
	lags, err := a.Lag(a.ctx, group)
	a.must(err)
	a.must(lags.Error())
	group0 := lags[group]
	a.equal("state", group0.State, "Empty")
	a.equal("lag", group0.Lag.Total(), 7)
	listed, err := a.ListGroups(a.ctx, "Empty")
	a.must(err)
	_, found := listed[group]
	a.equal("listed", found, true)
	described, err := a.DescribeGroups(a.ctx, group, group+"-none")
	a.must(err)
	a.equal("described", described[group].State, "Empty")
	coordinators := a.FindGroupCoordinators(a.ctx, group)
	a.must(coordinators.Error())
	forget := kadm.TopicsSet{}
	forget.Add(a.topic, 1)
	forgotten, err := a.DeleteOffsets(a.ctx, group, forget)
	a.must(err)
	a.must(forgotten.Error())
	fetched, err = a.FetchOffsets(a.ctx, group)
	a.must(err)
	_, found = fetched.Lookup(a.topic, 1)
	a.equal("forgotten", found, false)
	many := a.FetchManyOffsets(a.ctx, group, group+"-none")
	a.must(many.Error())
	_, err = a.DeleteGroup(a.ctx, group)
	a.must(err)
	_, err = a.DeleteGroup(a.ctx, group)
	a.refused(kerr.GroupIDNotFound, err)
}

func TestCluster(t *testing.T) {
	a := begin(t)
	brokers, err := a.ListBrokers(a.ctx)
	a.must(err)
	a.equal("brokers", len(brokers), a.replicas)
	metadata, err := a.Metadata(a.ctx, a.topic)
	a.must(err)
	a.equal("cluster has an id", metadata.Cluster != "", true)
	versions, err := a.ApiVersions(a.ctx)
	a.must(err)
	versions.Each(func(v kadm.BrokerApiVersions) { a.must(v.Err) })
	of := kadm.TopicsSet{}
	of.Add(a.topic, 0, 1, 2)
	dirs, err := a.DescribeAllLogDirs(a.ctx, of)
	a.must(err)
	dirs.Each(func(d kadm.DescribedLogDir) { a.must(d.Err) })
	holders := 0
	for _, broker := range dirs {
		for _, dir := range broker {
			if p, ok := dir.Topics.Lookup(a.topic, 0); ok && p.Size > 0 {
				holders++
			}
		}
	}
	a.equal("brokers that hold the records", holders, a.replicas)
	elected, err := a.ElectLeaders(a.ctx, kadm.ElectPreferredReplica, of)
	a.must(err)
	for _, p := range elected[a.topic] {
		// A topic just made is led by its preferred replicas.
		a.refused(kerr.ElectionNotNeeded, p.Err)
	}
	moving, err := a.ListPartitionReassignments(a.ctx, of)
	a.must(err)
	a.equal("moving", len(moving), 0)
}
