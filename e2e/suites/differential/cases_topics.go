package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteTopic deletes by name and waits until it is gone.
func (p *Probe) deleteTopic(name string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = 10_000, []string{name}
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, t)
	p.quietly(req)
	for end := time.Now().Add(20 * time.Second); ; {
		metadata := kmsg.NewPtrMetadataRequest()
		asked := kmsg.NewMetadataRequestTopic()
		asked.Topic = kmsg.StringPtr(name)
		metadata.Topics = append(metadata.Topics, asked)
		if p.quietly(metadata).(*kmsg.MetadataResponse).Topics[0].ErrorCode == 3 {
			return
		}
		if time.Now().After(end) {
			p.stop("%s is still there", name)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func creation(name string, partitions int32, replicas int16, configs ...string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 20_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], kmsg.StringPtr(configs[i+1])
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// create asks for topics and learns their ids before the answer is written down.
func (p *Probe) create(step string, req *kmsg.CreateTopicsRequest) {
	if resp, ok := p.Ask(step, req).(*kmsg.CreateTopicsResponse); ok {
		for _, t := range resp.Topics {
			if t.TopicID != ([16]byte{}) {
				p.knowTopic(t.Topic, p.renamed(t.Topic), t.TopicID)
			}
		}
	}
}

func init() {
	cases["topics/create"] = createTopics
	cases["topics/create configs"] = func(p *Probe) {
		for i, c := range [][2]string{
			{"no.such.key", "1"}, {"retention.ms", "never"}, {"retention.ms", "-2"}, {"retention.ms", "-1"}, {"segment.bytes", "1000"},
			{"segment.bytes", "1048576"}, {"cleanup.policy", "shred"}, {"cleanup.policy", ""}, {"cleanup.policy", "compact,delete"},
			{"compression.type", "lzma"}, {"min.insync.replicas", "0"}, {"min.insync.replicas", "5"}, {"max.message.bytes", "-1"},
			{"max.message.bytes", "0"}, {"retention.bytes", "99999999999999999999"}, {"unclean.leader.election.enable", "yes"},
			{"unclean.leader.election.enable", "TRUE"}, {"min.cleanable.dirty.ratio", "2"}, {"min.cleanable.dirty.ratio", "0.25"},
			{"message.timestamp.type", "Never"}, {"retention.ms", " 1000 "}, {"leader.replication.throttled.replicas", "x"},
			{"leader.replication.throttled.replicas", "0:1,1:0"}, {"flush.messages", "0"}, {"preallocate", "true"},
			{"compression.gzip.level", "0"}, {"compression.gzip.level", "-1"}, {"compression.zstd.level", "99"},
			{"remote.storage.enable", "true"}, {"local.retention.ms", "-3"}, {"index.interval.bytes", "-1"}, {"segment.jitter.ms", "-1"},
			{"min.compaction.lag.ms", "10"}, {"max.compaction.lag.ms", "0"}, {"message.timestamp.after.max.ms", "-1"},
			{"file.delete.delay.ms", "-1"}, {"delete.retention.ms", "-1"}, {"message.format.version", "2.8"},
			{"message.timestamp.difference.max.ms", "5"}, {"max.decompressed.message.bytes", "0"},
		} {
			p.create(fmt.Sprintf("%s=%s", c[0], c[1]), creation(p.Name(fmt.Sprint("t", i)), 1, 1, c[0], c[1]))
		}
		null := creation(p.Name("null"), 1, 1)
		null.Topics[0].Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms"}}
		p.create("a null value", null)
		p.create("a key twice", creation(p.Name("twice"), 1, 1, "retention.ms", "1", "retention.ms", "2"))
		p.create("min lag above max lag", creation(p.Name("lags"), 1, 1, "min.compaction.lag.ms", "10", "max.compaction.lag.ms", "5"))
	}
	cases["topics/delete"] = deleteTopics
	cases["topics/partitions"] = func(p *Probe) {
		topic := p.Topic("t", 2)
		ask := func(step, name string, count int32, only bool, assignment ...[]int32) {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis, req.ValidateOnly = 20_000, only
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = name, count
			for _, a := range assignment {
				t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: a})
			}
			req.Topics = append(req.Topics, t)
			p.Ask(step, req)
		}
		b := p.target.brokers[0]
		for _, n := range []int32{2, 1, 0, -1} {
			ask(fmt.Sprint("to ", n), topic, n, false)
		}
		ask("only a check", topic, 5, true)
		ask("unknown topic", p.Name("none"), 5, false)
		ask("a broker that is not there", topic, 3, false, []int32{99})
		ask("too few assignments", topic, 4, false, []int32{b})
		ask("too many assignments", topic, 3, false, []int32{b}, []int32{b})
		ask("a broker twice", topic, 3, false, []int32{b, b})
		ask("no broker", topic, 3, false, []int32{})
		ask("assigned", topic, 3, false, []int32{b})
		ask("to 4", topic, 4, false)
		ask("a bad name", "a/b", 4, false)
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = 20_000
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = topic, 6
		req.Topics = append(req.Topics, t, t)
		p.Ask("a topic twice", req)
		p.awaitLeaders(topic, 4)
		p.Every("what there is", func(int16) kmsg.Request {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis = 20_000
			req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: 1})
			return req
		})
	}
	cases["topics/elect leaders"] = func(p *Probe) {
		topic := p.Topic("t", 2)
		ask := func(step string, kind int8, topic string, partitions ...int32) {
			req := kmsg.NewPtrElectLeadersRequest()
			req.ElectionType, req.TimeoutMillis = kind, 10_000
			req.Topics = append(req.Topics, kmsg.ElectLeadersRequestTopic{Topic: topic, Partitions: partitions})
			p.Ask(step, req)
		}
		ask("preferred", 0, topic, 0, 1)
		ask("unclean", 1, topic, 0)
		ask("unknown partition", 0, topic, 9)
		ask("unknown topic", 0, p.Name("none"), 0)
		ask("unknown kind", 7, topic, 0)
		ask("no partitions", 0, topic)
	}
	cases["topics/reassignments"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.TimeoutMillis = 10_000
		req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: topic, Partitions: []int32{0, 4}}, {Topic: p.Name("none"), Partitions: []int32{0}}}
		p.Ask("none under way", req)
	}
}

func createTopics(p *Probe) {
	b := p.target.brokers[0]
	p.Every("good", func(v int16) kmsg.Request { return creation(p.Name(fmt.Sprint("v", v)), 2, 1, "retention.ms", "5000") })
	p.Every("again", func(v int16) kmsg.Request { return creation(p.Name("v3"), 2, 1) })
	p.create("defaults", creation(p.Name("defaults"), -1, -1))
	for _, n := range []int32{0, -2} {
		p.create(fmt.Sprint("partitions ", n), creation(p.Name("n"), n, 1))
	}
	for _, n := range []int16{0, -2, 9} {
		p.create(fmt.Sprint("replicas ", n), creation(p.Name("n"), 1, n))
	}
	for _, bad := range []string{"", ".", "..", "a/b", "a b", "ä", strings.Repeat("a", 250)} {
		p.create(fmt.Sprintf("name %.4q", bad), creation(bad, 1, 1))
	}
	p.create("a dot", creation(p.Name("a.b"), 1, 1))
	p.create("an underscore collides", creation(p.Name("a_b"), 1, 1))
	p.create("begins as internal ones do", creation("__"+p.Name("x"), 1, 1))
	assigned := func(step, name string, of map[int32][]int32, partitions int32, replicas int16) {
		req := creation(p.Name(name), partitions, replicas)
		for n := int32(0); n < 5; n++ {
			if brokers, ok := of[n]; ok {
				req.Topics[0].ReplicaAssignment = append(req.Topics[0].ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: n, Replicas: brokers})
			}
		}
		p.create(step, req)
	}
	assigned("assigned", "assigned", map[int32][]int32{0: {b}, 1: {b}}, -1, -1)
	assigned("assigned with a count", "as2", map[int32][]int32{0: {b}}, 1, -1)
	assigned("assigned with a factor", "as3", map[int32][]int32{0: {b}}, -1, 1)
	assigned("a gap", "as4", map[int32][]int32{0: {b}, 2: {b}}, -1, -1)
	assigned("a broker twice", "as5", map[int32][]int32{0: {b, b}}, -1, -1)
	assigned("an unknown broker", "as6", map[int32][]int32{0: {77}}, -1, -1)
	assigned("no broker", "as7", map[int32][]int32{0: {}}, -1, -1)
	assigned("not from 0", "as8", map[int32][]int32{1: {b}}, -1, -1)
	only := creation(p.Name("only"), 3, 1)
	only.ValidateOnly = true
	p.create("only a check", only)
	p.Ask("a check makes nothing", describeConfigs(topicResource, p.Name("only"), "retention.ms"))
	only = creation(p.Name("v3"), 3, 1)
	only.ValidateOnly = true
	p.create("only a check of what is there", only)
	twice := creation(p.Name("twice"), 1, 1)
	twice.Topics = append(twice.Topics, twice.Topics[0], creation(p.Name("beside"), 1, 1).Topics[0])
	p.create("a topic twice", twice)
	mixed := creation(p.Name("mixed"), 1, 1)
	mixed.Topics = append(mixed.Topics, creation("a/b", 1, 1).Topics[0])
	p.create("good and bad", mixed)
	none := kmsg.NewPtrCreateTopicsRequest()
	none.TimeoutMillis = 1000
	p.create("no topic", none)
	late := creation(p.Name("late"), 1, 1)
	late.TimeoutMillis = 0
	p.create("no time", late)
}

func deleteTopics(p *Probe) {
	named := func(names ...string) *kmsg.DeleteTopicsRequest {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TimeoutMillis, req.TopicNames = 20_000, names
		for _, n := range names {
			req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: kmsg.StringPtr(n)})
		}
		return req
	}
	ids := func(all ...[16]byte) *kmsg.DeleteTopicsRequest {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TimeoutMillis = 20_000
		for _, id := range all {
			req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{TopicID: id})
		}
		return req
	}
	for v := p.target.shared[20][0]; v <= p.target.shared[20][1]; v++ {
		p.Topic(fmt.Sprint("v", v), 1)
	}
	p.Every("by name", func(v int16) kmsg.Request { return named(p.Name(fmt.Sprint("v", v))) })
	p.Every("unknown name", func(v int16) kmsg.Request { return named(p.Name("none")) })
	topic := p.Topic("t", 1)
	p.Ask("by id", ids(p.topics[topic]))
	p.Ask("by id again", ids(p.topics[topic]))
	p.Ask("by an unknown id", ids([16]byte{4, 5}))
	p.Ask("by no id", ids([16]byte{}))
	a, b := p.Topic("a", 1), p.Topic("b", 1)
	p.Ask("a name twice", named(a, a))
	p.Ask("an id twice", ids(p.topics[b], p.topics[b]))
	both := ids(p.topics[b])
	both.Topics[0].Topic = kmsg.StringPtr(b)
	p.Ask("name and id", both)
	same := named(b)
	same.Topics = append(same.Topics, ids(p.topics[b]).Topics...)
	p.Ask("the same by name and by id", same)
	p.Ask("known and unknown", named(p.Name("none"), a))
	p.Ask("nothing", named())
	p.Ask("bad name", named("a/b"))
}
