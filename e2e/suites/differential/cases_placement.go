package main

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	cases["placement/reassign"] = func(p *Probe) {
		topic, b := p.Topic("t", 2), p.target.brokers[0]
		alter := func(step, name string, partition int32, replicas []int32) {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			t.Topic = name
			t.Partitions = append(t.Partitions, kmsg.AlterPartitionAssignmentsRequestTopicPartition{Partition: partition, Replicas: replicas})
			req.Topics = append(req.Topics, t)
			p.Ask(step, req)
		}
		alter("to where it is", topic, 0, []int32{b})
		alter("call off what does not move", topic, 0, nil)
		alter("to nobody", topic, 0, []int32{})
		alter("to a broker that is not there", topic, 0, []int32{99})
		alter("to one that is and one that is not", topic, 1, []int32{b, 99})
		alter("to a broker twice", topic, 0, []int32{b, b})
		alter("to a negative broker", topic, 0, []int32{-1})
		alter("an unknown partition", topic, 2, []int32{b})
		alter("a negative partition", topic, -1, []int32{b})
		alter("an unknown topic", p.Name("none"), 0, []int32{b})
		alter("call off in an unknown topic", p.Name("none"), 0, nil)
		alter("a topic without a name", "", 0, []int32{b})
		p.Ask("nothing", kmsg.NewPtrAlterPartitionAssignmentsRequest())

		list := func(step string, topics ...kmsg.ListPartitionReassignmentsRequestTopic) {
			req := kmsg.NewPtrListPartitionReassignmentsRequest()
			req.Topics = topics
			p.Ask(step, req)
		}
		list("what moves")
		list("what moves of some", kmsg.ListPartitionReassignmentsRequestTopic{Topic: topic, Partitions: []int32{0, 1, 7}},
			kmsg.ListPartitionReassignmentsRequestTopic{Topic: p.Name("none"), Partitions: []int32{0}})
	}
	cases["placement/log dirs"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		described := p.quietly(kmsg.NewPtrDescribeLogDirsRequest()).(*kmsg.DescribeLogDirsResponse)
		dir := described.Dirs[0].Dir
		move := func(step, dir, name string, partitions ...int32) {
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			d := kmsg.NewAlterReplicaLogDirsRequestDir()
			d.Dir = dir
			d.Topics = append(d.Topics, kmsg.AlterReplicaLogDirsRequestDirTopic{Topic: name, Partitions: partitions})
			req.Dirs = append(req.Dirs, d)
			p.Ask(step, req)
		}
		move("to where it is", dir, topic, 0)
		move("to another directory", "/nowhere", topic, 0)
		move("a partition that is not there", dir, topic, 7)
		move("a topic that is not there", dir, p.Name("none"), 0)
		move("a topic that is not there to another directory", "/nowhere", p.Name("none"), 0)
		move("a bad name", dir, "a/b", 0)
		move("no partition", dir, topic)
	}
	cases["placement/unregister"] = func(p *Probe) {
		for _, c := range []struct {
			step string
			id   int32
		}{{"a broker that is not there", 99}, {"a negative broker", -1}} {
			req := kmsg.NewPtrUnregisterBrokerRequest()
			req.BrokerID = c.id
			p.Ask(c.step, req)
		}
	}
}
