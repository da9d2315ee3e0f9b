package main

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	cases["fetch/versions"] = func(p *Probe) {
		topic := p.filled()
		p.Every("from 2", func(int16) kmsg.Request { return p.Read(topic, 2) })
		p.Every("unknown topic", func(int16) kmsg.Request {
			req := p.Read(topic, 0)
			req.Topics[0].Topic, req.Topics[0].TopicID = p.Name("none"), [16]byte{9}
			return req
		})
		p.Every("unknown partition", func(int16) kmsg.Request {
			req := p.Read(topic, 0)
			req.Topics[0].Partitions[0].Partition = 5
			return req
		})
	}
	cases["fetch/offsets"] = func(p *Probe) {
		topic := p.filled()
		for _, offset := range []int64{0, 1, 9, 10, 11, 1 << 40, -1, -2} {
			p.Ask(fmt.Sprintf("offset %d", offset), p.Read(topic, offset))
		}
		p.Ask("delete below 5", p.DeleteBefore(topic, 0, 5))
		for _, offset := range []int64{0, 4, 5} {
			p.Ask(fmt.Sprintf("offset %d after deletion", offset), p.Read(topic, offset))
		}
		p.Log("log", topic)
	}
	cases["fetch/bytes"] = func(p *Probe) {
		topic := p.Topic("t", 2)
		for range 5 {
			p.Produce("fill", topic, of(values(10, 100)...))
		}
		for _, c := range []struct{ all, each int32 }{{0, 1 << 20}, {1 << 20, 0}, {1, 1}, {2000, 1 << 20}, {1 << 20, 2000}, {2600, 2600}, {-1, 1 << 20}, {1 << 20, -1}} {
			req := p.Read(topic, 0)
			req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = c.all, c.each
			p.Ask(fmt.Sprintf("max %d each %d", c.all, c.each), req)
		}
		req := p.Read(topic, 0)
		req.MaxWaitMillis, req.MinBytes = 300, 1<<20
		p.Ask("waits for more in vain", req)
		req = p.Read(topic, 99)
		req.MaxWaitMillis, req.MinBytes = 60_000, 1
		p.Ask("an error does not wait", req)
		req = p.Read(topic, 50)
		req.MaxWaitMillis, req.MinBytes = 60_000, 0
		p.Ask("no minimum does not wait", req)
		req = p.Read(topic, 50)
		req.MaxWaitMillis, req.MinBytes = 300, 1
		p.Ask("waits at the end", req)
		// The second partition of a reply gets what the first has left.
		req = p.Read(topic, 0)
		again := req.Topics[0].Partitions[0]
		again.Partition, again.FetchOffset = 1, 0
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, again)
		req.MaxBytes = 1
		p.Ask("one byte over two partitions", req)
	}
	cases["fetch/epochs"] = func(p *Probe) {
		topic := p.filled()
		for _, epoch := range []int32{-1, 0, 1, 99, -2} {
			req := p.Read(topic, 0)
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
			p.Ask(fmt.Sprintf("current epoch %d", epoch), req)
		}
		for _, last := range []int32{-1, 0, 1, 5} {
			req := p.Read(topic, 5)
			req.Topics[0].Partitions[0].LastFetchedEpoch = last
			p.Ask(fmt.Sprintf("last fetched epoch %d", last), req)
		}
		for _, asked := range []int32{-1, 0, 1, 99} {
			for _, current := range []int32{-1, 0, 3} {
				req := kmsg.NewPtrOffsetForLeaderEpochRequest()
				req.ReplicaID = -1
				t := kmsg.NewOffsetForLeaderEpochRequestTopic()
				t.Topic = topic
				part := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				part.LeaderEpoch, part.CurrentLeaderEpoch = asked, current
				t.Partitions = append(t.Partitions, part)
				req.Topics = append(req.Topics, t)
				p.Ask(fmt.Sprintf("end of epoch %d, current %d", asked, current), req)
			}
		}
		p.Every("end of an epoch, unknown topic", func(int16) kmsg.Request {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.ReplicaID = -1
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = p.Name("none")
			t.Partitions = append(t.Partitions, kmsg.NewOffsetForLeaderEpochRequestTopicPartition())
			req.Topics = append(req.Topics, t)
			return req
		})
	}
	cases["fetch/isolation"] = func(p *Probe) {
		topic := p.filled()
		for _, level := range []int8{0, 1, 2} {
			req := p.Read(topic, 0)
			req.IsolationLevel = level
			p.AskOf(0, fmt.Sprintf("fetch level %d", level), p.latest(req), 3*time.Second)
			list := p.OffsetsAt(topic, -1)
			list.IsolationLevel = level
			p.AskOf(0, fmt.Sprintf("list level %d", level), p.latest(list), 3*time.Second)
		}
	}
	cases["fetch/sessions"] = sessions
	cases["fetch/list offsets"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		p.Ask("empty: latest", p.OffsetsAt(topic, -1))
		p.Ask("empty: greatest timestamp", p.OffsetsAt(topic, -3))
		p.Ask("empty: by time", p.OffsetsAt(topic, 0))
		for i := range int64(3) {
			b := of("a", "b", "c")
			b.At = longAgo + 1000*(2-i)*(2-i)
			b.Records[1].Later, b.Records[2].Later = 100, 50
			p.Produce(fmt.Sprintf("fill %d", i), topic, b)
		}
		for _, at := range []int64{-1, -2, -3, -4, -5, -6, -7, 0, longAgo, longAgo + 60, longAgo + 100, longAgo + 101, longAgo + 4000, longAgo + 4100, longAgo + 4101, 1 << 60} {
			p.Ask(fmt.Sprintf("at %d", at), p.OffsetsAt(topic, at))
		}
		p.Every("latest", func(int16) kmsg.Request { return p.OffsetsAt(topic, -1) })
		p.Every("greatest timestamp", func(int16) kmsg.Request { return p.OffsetsAt(topic, -3) })
		p.Every("local", func(int16) kmsg.Request { return p.OffsetsAt(topic, -4) })
		p.Every("unknown topic", func(int16) kmsg.Request { return p.OffsetsAt(p.Name("none"), -1) })
		req := p.OffsetsAt(topic, -1)
		req.Topics[0].Partitions[0].Partition = 3
		p.Ask("unknown partition", req)
		for _, epoch := range []int32{0, 4} {
			req := p.OffsetsAt(topic, -1)
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
			p.Ask(fmt.Sprintf("current epoch %d", epoch), req)
		}
		req = p.OffsetsAt(topic, -1)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
		p.Ask("a partition twice", req)
		p.Ask("delete below 4", p.DeleteBefore(topic, 0, 4))
		for _, at := range []int64{-1, -2, -3, longAgo, longAgo + 4000} {
			p.Ask(fmt.Sprintf("at %d after deletion", at), p.OffsetsAt(topic, at))
		}
	}
	cases["fetch/delete records"] = func(p *Probe) {
		topic := p.filled()
		for _, offset := range []int64{0, 3, 3, 2, 11, -2, -1, -1} {
			p.Ask(fmt.Sprintf("below %d", offset), p.DeleteBefore(topic, 0, offset))
		}
		p.Every("nothing new", func(int16) kmsg.Request { return p.DeleteBefore(topic, 0, 10) })
		p.Ask("unknown partition", p.DeleteBefore(topic, 4, 0))
		p.Ask("unknown topic", p.DeleteBefore(p.Name("none"), 0, 0))
		p.Ask("start", p.OffsetsAt(topic, -2))
		p.Produce("goes on", topic, of("a"))
		p.Log("log", topic)
		compacted := p.Topic("compacted", 1, "cleanup.policy", "compact")
		keyed := of("a")
		keyed.Records[0].Key = []byte("k")
		p.Produce("keyed", compacted, keyed)
		p.Ask("of a compacted topic", p.DeleteBefore(compacted, 0, 1))
	}
}

// filled is a topic of one partition with ten records in two batches.
func (p *Probe) filled() string {
	topic := p.Topic("t", 1)
	p.Produce("fill", topic, of(values(5, 10)...))
	p.Produce("fill more", topic, of(values(5, 10)...))
	return topic
}

func sessions(p *Probe) {
	topic := p.Topic("t", 3)
	other := p.Topic("other", 1)
	p.Produce("fill", topic, of(values(5, 10)...))
	partition := func(req *kmsg.FetchRequest, n int32, offset int64) {
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = n, offset, 1<<20
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, part)
	}
	ask := func(step string, session, epoch int32, change func(*kmsg.FetchRequest)) *kmsg.FetchResponse {
		req := p.Read(topic, 0)
		req.SessionID, req.SessionEpoch, req.Topics[0].Partitions = session, epoch, nil
		if change != nil {
			change(req)
		}
		if len(req.Topics[0].Partitions) == 0 {
			req.Topics = nil
		}
		resp, ok := p.Ask(step, req).(*kmsg.FetchResponse)
		if !ok {
			p.stop("%s was not answered", step)
		}
		if resp.SessionID != 0 {
			p.Alias(fmt.Sprint(resp.SessionID), "session")
			resp.SessionID = 1
		}
		return resp
	}
	req := p.Read(topic, 0)
	req.SessionEpoch = 0
	req.Topics[0].Partitions = nil
	partition(req, 0, 0)
	partition(req, 1, 0)
	opened, ok := p.quietly(req).(*kmsg.FetchResponse)
	if !ok || opened.SessionID == 0 {
		p.stop("no session was opened")
	}
	id := opened.SessionID
	ask("nothing changed", id, 1, nil)
	ask("first moves on", id, 2, func(r *kmsg.FetchRequest) { partition(r, 0, 5) })
	ask("all quiet", id, 3, nil)
	ask("a third one", id, 4, func(r *kmsg.FetchRequest) { partition(r, 2, 0) })
	p.Produce("more", topic, of("x"))
	ask("only what is new", id, 5, nil)
	ask("out of range in a session", id, 6, func(r *kmsg.FetchRequest) { partition(r, 1, 77) })
	ask("still out of range", id, 7, nil)
	ask("forgotten", id, 8, func(r *kmsg.FetchRequest) {
		partition(r, 2, 0)
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.TopicID, f.Partitions = topic, p.topics[topic], []int32{1}
		r.ForgottenTopics = append(r.ForgottenTopics, f)
	})
	ask("an old epoch", id, 3, nil)
	ask("the right epoch after a wrong one", id, 9, nil)
	ask("a future epoch", id, 40, nil)
	ask("unknown session", id^0x55555, 1, nil)
	ask("full fetch that names the session closes it", id, 0, func(r *kmsg.FetchRequest) { partition(r, 0, 0) })
	ask("closed", id, 10, nil)
	ask("closing what is not there", id, -1, func(r *kmsg.FetchRequest) { partition(r, 0, 0) })
	ask("epoch without session", 0, 5, func(r *kmsg.FetchRequest) { partition(r, 0, 0) })
	req = p.Read(topic, 0)
	req.SessionEpoch = 0
	req.Topics = append(req.Topics, p.Read(other, 0).Topics...)
	req.Topics = append(req.Topics, kmsg.FetchRequestTopic{TopicID: [16]byte{7}, Topic: "x", Partitions: req.Topics[0].Partitions})
	again := p.quietly(req).(*kmsg.FetchResponse)
	p.deleteTopic(other)
	ask("a topic of the session was deleted", again.SessionID, 1, nil)
}
