package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func doTopics(ctx context.Context) {
	c := client(append(base(), kgo.MetadataMinAge(50*time.Millisecond))...)
	a := kadm.NewClient(c)
	die(c.Ping(ctx))
	var names []string
	for i := 0; i < *count; i++ {
		names = append(names, fmt.Sprintf("%s-%d", *prefix, i))
	}
	k := *perReq
	if k <= 0 {
		k = *count
	}
	start := now()
	for i := 0; i < len(names); i += k {
		r, err := a.CreateTopics(ctx, int32(*partitions), int16(*rf), nil, names[i:min(i+k, len(names))]...)
		die(err)
		for _, t := range r.Sorted() {
			die(t.Err)
		}
	}
	created := now()
	waitLeaders(ctx, c, names...)
	led := now()
	waitServed(ctx, a, names...)
	usable := now()
	emit(map[string]any{"topics": *count, "partitions": *count * *partitions, "per_request": k, "create_s": r3(float64(created-start) / 1e9), "leaders_s": r3(float64(led-start) / 1e9), "usable_s": r3(float64(usable-start) / 1e9)})
}

// A list-offsets on each partition needs the leader itself to have the log open.
func waitServed(ctx context.Context, a *kadm.Client, topics ...string) {
	for {
		lo, err := a.ListEndOffsets(ctx, topics...)
		bad := 0
		lo.Each(func(o kadm.ListedOffset) {
			if o.Err != nil {
				bad++
			}
		})
		if err == nil && bad == 0 {
			return
		}
		if ctx.Err() != nil {
			die(fmt.Errorf("%d partitions are not served: %v", bad, err))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func doWait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	cl := client(append(base(), kgo.MetadataMinAge(50*time.Millisecond), kgo.DialTimeout(time.Second), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))...)
	a := kadm.NewClient(cl)
	start := now()
	for {
		m, err := rawMeta(ctx, cl)
		if err == nil && len(m.Brokers) >= *n && m.ControllerID >= 0 {
			break
		}
		if ctx.Err() != nil {
			die(fmt.Errorf("not ready: %v", err))
		}
		time.Sleep(10 * time.Millisecond)
	}
	meta := now()
	if !fsSet("topic") {
		*topic = "kbench-ready"
	}
	*partitions = *n
	for {
		_, err := a.CreateTopic(ctx, int32(*partitions), int16(*rf), nil, *topic)
		if err == nil || errors.Is(err, kerr.TopicAlreadyExists) {
			break
		}
		if ctx.Err() != nil {
			die(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	waitLeaders(ctx, cl, *topic)
	p := client(append(prodOpts(), kgo.MetadataMinAge(50*time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	for i := 0; i < *partitions; i++ {
		for {
			err := p.ProduceSync(ctx, &kgo.Record{Value: []byte("x"), Partition: int32(i)}).FirstErr()
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				die(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	emit(map[string]any{"brokers": *n, "metadata_s": r3(float64(meta-start) / 1e9), "produced_s": r3(float64(now()-start) / 1e9)})
}

func doLeaders(ctx context.Context) {
	cl := client(base()...)
	a := kadm.NewClient(cl)
	m, err := a.Metadata(ctx, *topic)
	die(err)
	l := map[int32]int32{}
	for _, t := range m.Topics {
		for _, p := range t.Partitions {
			l[p.Partition] = p.Leader
		}
	}
	out := map[string]any{"leaders": l, "controller": m.Controller}
	// the real quorum leader (Metadata names any live broker in KRaft)
	if resp, err := kmsg.NewPtrDescribeQuorumRequest(), error(nil); err == nil {
		resp.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}}}}
		if r, err := resp.RequestWith(ctx, cl); err == nil && len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			out["quorum_leader"] = r.Topics[0].Partitions[0].LeaderID
		}
	}
	emit(out)
}
