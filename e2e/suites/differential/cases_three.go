package main

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cases that begin so need three brokers; all others are asked of one.
const threeBrokers = "three/"

func init() {
	cases["three/not the leader"] = notTheLeader
	cases["three/not the coordinator"] = notTheCoordinator
	cases["three/replicas"] = replicas
}

// spread is a topic of one partition on all three brokers, led by the first.
func (p *Probe) spread(base string, configs ...string) string {
	b := p.target.brokers
	req := creation(p.Name(base), -1, -1, configs...)
	req.Topics[0].ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{b[0], b[1], b[2]}}}
	p.create("create "+base, req)
	p.awaitLeaders(p.Name(base), 1)
	p.awaitKnown(p.Name(base))
	return p.Name(base)
}

// awaitKnown waits until every broker has heard of a topic.
func (p *Probe) awaitKnown(name string) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, t)
	for b := range p.target.brokers {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			resp, err := p.call(b, p.latest(req), answerWithin)
			if m, ok := resp.(*kmsg.MetadataResponse); err == nil && ok && m.Topics[0].ErrorCode == 0 {
				break
			}
			if time.Now().After(end) {
				p.stop("broker %d does not know %s", b, name)
			}
		}
	}
}

// everywhere asks all three brokers the same in every shared version from one on.
func (p *Probe) everywhere(step string, from int16, build func() kmsg.Request) {
	for v := max(from, p.target.shared[build().Key()][0]); v <= p.target.shared[build().Key()][1]; v++ {
		for b := range p.target.brokers {
			req := build()
			req.SetVersion(v)
			p.AskOf(b, fmt.Sprintf("%s v%d b%d", step, v, b), req, answerWithin)
		}
	}
}

func notTheLeader(p *Probe) {
	topic := p.spread("t")
	p.everywhere("produce", 3, func() kmsg.Request { return produceOf(topic, p.topics[topic], 0, -1, of("a").Bytes()) })
	metadata := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = kmsg.StringPtr(topic)
	metadata.Topics = append(metadata.Topics, asked)
	p.Ask("metadata", metadata)
	p.everywhere("offsets", 1, func() kmsg.Request { return p.OffsetsAt(topic, -1) })
	p.everywhere("delete records", 0, func() kmsg.Request { return p.DeleteBefore(topic, 0, 1) })
	p.everywhere("end of an epoch", 2, func() kmsg.Request {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic = topic
		part := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		part.CurrentLeaderEpoch = -1
		t.Partitions = append(t.Partitions, part)
		req.Topics = append(req.Topics, t)
		return req
	})
	// Before version 11 a consumer reads from the leader only.
	for v := int16(4); v <= 10; v++ {
		for b := range p.target.brokers {
			req := p.Read(topic, 3)
			req.SetVersion(v)
			p.AskOf(b, fmt.Sprintf("fetch v%d b%d", v, b), req, answerWithin)
		}
	}
	// One partition here, one there: each is answered for itself.
	other := creation(p.Name("other"), -1, -1)
	other.Topics[0].ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{
		{Partition: 0, Replicas: []int32{p.target.brokers[0]}}, {Partition: 1, Replicas: []int32{p.target.brokers[1]}},
	}
	p.create("create other", other)
	p.awaitLeaders(p.Name("other"), 2)
	p.awaitKnown(p.Name("other"))
	both := produceOf(p.Name("other"), p.topics[p.Name("other")], 0, -1, of("a").Bytes())
	second := both.Topics[0].Partitions[0]
	second.Partition = 1
	both.Topics[0].Partitions = append(both.Topics[0].Partitions, second)
	p.Ask("produce to both", both)
	read := p.Read(p.Name("other"), 0)
	again := read.Topics[0].Partitions[0]
	again.Partition = 1
	read.Topics[0].Partitions = append(read.Topics[0].Partitions, again)
	p.Ask("fetch from both", read)
}

func notTheCoordinator(p *Probe) {
	group, topic := p.Name("g"), p.spread("t")
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{group}
	found := p.quietly(find).(*kmsg.FindCoordinatorResponse)
	wrong := 0
	for b, id := range p.target.brokers {
		if id != found.Coordinators[0].NodeID {
			wrong = b
		}
	}
	ask := func(step string, req kmsg.Request) { p.AskOf(wrong, step, p.latest(req), answerWithin) }
	ask("join", joinOf(group, "", "range"))
	ask("sync", syncOf(group, "m", 1))
	ask("heartbeat", heartbeatOf(group, "m", 1))
	ask("leave", leaveOf(group, "m"))
	ask("commit", p.commitOf(group, "", -1, topic, 0, 1, nil))
	ask("offsets", p.offsetsOf(group, topic, 0))
	ask("describe", describeOf(group))
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{group}
	ask("delete", remove)
	forget := kmsg.NewPtrOffsetDeleteRequest()
	forget.Group = group
	forget.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	ask("forget offsets", forget)
}

func replicas(p *Probe) {
	b := p.target.brokers
	assign := func(step, base string, partitions ...[]int32) {
		req := creation(p.Name(base), -1, -1)
		for n, r := range partitions {
			req.Topics[0].ReplicaAssignment = append(req.Topics[0].ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(n), Replicas: r})
		}
		p.create(step, req)
	}
	assign("of different length", "a", []int32{b[0], b[1]}, []int32{b[2]})
	assign("one unknown", "b", []int32{b[0], 99, b[2]})
	assign("one twice", "c", []int32{b[0], b[1], b[0]})
	p.create("four replicas", creation(p.Name("d"), 1, 4))
	p.create("defaults", creation(p.Name("e"), -1, -1))
	topic := p.spread("t", "min.insync.replicas", "3")
	p.Produce("all of three", topic, of("a"))
	grow := func(step string, count int32, assignment ...[]int32) {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = 20_000
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = topic, count
		for _, a := range assignment {
			t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: a})
		}
		req.Topics = append(req.Topics, t)
		p.Ask(step, req)
	}
	grow("with fewer replicas", 2, []int32{b[1], b[0]})
	grow("with more than there are", 2, []int32{b[1], b[0], b[2], 99})
	grow("elsewhere first", 2, []int32{b[1], b[2], b[0]})
	p.awaitLeaders(topic, 2)
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.TimeoutMillis = 10_000
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: []int32{0, 1}}}
	p.Ask("elect the preferred", elect)
	dirs := kmsg.NewPtrDescribeLogDirsRequest()
	dirs.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	for broker := range b {
		p.AskOf(broker, fmt.Sprintf("log dirs b%d", broker), p.latest(dirs), answerWithin)
	}
}
