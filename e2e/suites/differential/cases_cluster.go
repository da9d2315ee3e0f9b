package main

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	cases["cluster/api versions"] = func(p *Probe) {
		for v := int16(0); v <= 4; v++ {
			req := kmsg.NewPtrApiVersionsRequest()
			req.SetVersion(v)
			req.ClientSoftwareName, req.ClientSoftwareVersion = clientID, "1.0"
			p.AskAs(fmt.Sprintf("v%d", v), req)
		}
		for _, c := range []struct{ name, version string }{{"", "1"}, {"x", ""}, {"-x", "1"}, {"x y", "1"}, {"x", "1_2"}, {"x.y-z", "1.0-rc.1"}} {
			req := kmsg.NewPtrApiVersionsRequest()
			req.SetVersion(3)
			req.ClientSoftwareName, req.ClientSoftwareVersion = c.name, c.version
			resp, ok := p.quietlyAs(req).(*kmsg.ApiVersionsResponse)
			p.Note(fmt.Sprintf("software %q %q", c.name, c.version), fmt.Sprint(ok, resp.ErrorCode, len(resp.ApiKeys) > 0))
		}
	}
	cases["cluster/metadata"] = metadata
	cases["cluster/describe"] = func(p *Probe) {
		p.Every("brokers", func(int16) kmsg.Request { return kmsg.NewPtrDescribeClusterRequest() })
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 2
		p.Ask("controllers of a broker", req)
		req = kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 9
		p.Ask("an unknown kind", req)
		req = kmsg.NewPtrDescribeClusterRequest()
		req.IncludeClusterAuthorizedOperations = true
		p.Ask("operations", req)
	}
	cases["cluster/topic partitions"] = func(p *Probe) {
		topics := []string{p.Topic("a", 3), p.Topic("b", 1), p.Name("none")}
		ask := func(step string, limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, names ...string) {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			for _, n := range names {
				t := kmsg.NewDescribeTopicPartitionsRequestTopic()
				t.Topic = n
				req.Topics = append(req.Topics, t)
			}
			req.ResponsePartitionLimit, req.Cursor = limit, cursor
			p.Ask(step, req)
		}
		ask("all three", 2000, nil, topics...)
		ask("in another order", 2000, nil, topics[1], topics[0])
		ask("twice", 2000, nil, topics[0], topics[0])
		ask("limit 2", 2, nil, topics...)
		ask("limit 0", 0, nil, topics...)
		ask("from a cursor", 2000, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: topics[0], Partition: 1}, topics...)
		ask("from a cursor behind", 2000, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: topics[1], Partition: 0}, topics...)
		ask("bad cursor", 2000, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: topics[0], Partition: -1}, topics...)
		ask("bad name", 2000, nil, "a/b")
	}
	cases["cluster/log dirs"] = func(p *Probe) {
		topic := p.Topic("t", 2)
		p.Produce("fill", topic, of(values(10, 100)...))
		p.Every("one topic", func(int16) kmsg.Request {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{0, 1}}}
			return req
		})
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{1, 7}}, {Topic: p.Name("none"), Partitions: []int32{0}}}
		p.Ask("what is not there", req)
		req = kmsg.NewPtrDescribeLogDirsRequest()
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
		p.Ask("no topic", req)
	}
	cases["cluster/acls"] = func(p *Probe) {
		p.Every("describe", func(int16) kmsg.Request {
			req := kmsg.NewPtrDescribeACLsRequest()
			req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = 1, 1, 1, 1
			return req
		})
		create := kmsg.NewPtrCreateACLsRequest()
		create.Creations = []kmsg.CreateACLsRequestCreation{{ResourceType: 2, ResourceName: "t", ResourcePatternType: 3, Principal: "User:a", Host: "*", Operation: 3, PermissionType: 3}}
		p.Ask("create", create)
		remove := kmsg.NewPtrDeleteACLsRequest()
		remove.Filters = []kmsg.DeleteACLsRequestFilter{{ResourceType: 1, ResourcePatternType: 1, Operation: 1, PermissionType: 1}}
		p.Ask("delete", remove)
	}
	cases["cluster/find coordinator"] = func(p *Probe) {
		group := p.Name("g")
		p.Every("group", func(v int16) kmsg.Request {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
			return req
		})
		for kind := int8(1); kind <= 4; kind++ {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorType, req.CoordinatorKeys = kind, []string{group}
			if kind == 1 {
				// The topic of transactions is made by asking, and answers later.
				continue
			}
			p.Ask(fmt.Sprintf("kind %d", kind), req)
		}
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKeys = []string{}
		p.Ask("no key", req)
		req = kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKeys = []string{"", group, group}
		p.Ask("empty and twice", req)
	}
	cases["cluster/init producer id"] = func(p *Probe) {
		versions := p.target.shared[22]
		for v := versions[0]; v <= versions[1]; v++ {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.ProducerID, req.ProducerEpoch, req.TransactionTimeoutMillis = -1, -1, 1000
			req.SetVersion(v)
			resp, err := p.call(0, req, answerWithin)
			r, ok := resp.(*kmsg.InitProducerIDResponse)
			if err != nil || !ok {
				p.stop("no producer id: %v", err)
			}
			p.Note(fmt.Sprintf("v%d", v), fmt.Sprint(r.ErrorCode, r.ProducerID >= 0, r.ProducerEpoch))
		}
		for _, c := range []struct {
			step  string
			id    int64
			epoch int16
		}{{"again", 5, 0}, {"half", 5, -1}, {"other half", -1, 3}} {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.ProducerID, req.ProducerEpoch, req.TransactionTimeoutMillis = c.id, c.epoch, 1000
			resp, _ := p.quietly(req).(*kmsg.InitProducerIDResponse)
			p.Note(c.step, fmt.Sprint(resp.ErrorCode, resp.ProducerID >= 0, resp.ProducerEpoch))
		}
		empty := kmsg.NewPtrInitProducerIDRequest()
		empty.TransactionalID, empty.ProducerID, empty.ProducerEpoch = kmsg.StringPtr(""), -1, -1
		p.Ask("empty transactional id", empty)
	}
}

func metadata(p *Probe) {
	topic := p.Topic("t", 3)
	named := func(names ...string) *kmsg.MetadataRequest {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		for _, n := range names {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(n)
			req.Topics = append(req.Topics, t)
		}
		return req
	}
	p.Every("by name", func(int16) kmsg.Request { return named(topic) })
	// Before version 4 asking for a topic makes it, where that is allowed.
	for v := int16(4); v <= p.target.shared[3][1]; v++ {
		unknown := named(p.Name("none"))
		unknown.SetVersion(v)
		p.AskAs(fmt.Sprintf("unknown v%d", v), unknown)
	}
	p.made("v3", func(name string) *kmsg.MetadataRequest {
		req := named(name)
		req.SetVersion(3)
		return req
	})
	p.Every("no topics", func(v int16) kmsg.Request {
		if v == 0 {
			return named(topic)
		}
		return named()
	})
	p.Ask("twice", named(topic, topic))
	p.Ask("known and unknown", named(p.Name("none"), topic))
	for _, bad := range []string{"", ".", "..", "a/b", string(make([]byte, 250)), "a b"} {
		p.Ask(fmt.Sprintf("name %.4q", bad), named(bad))
	}
	byID := func(id [16]byte) *kmsg.MetadataRequest {
		req := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID = id
		req.Topics = append(req.Topics, t)
		return req
	}
	p.Ask("by id", byID(p.topics[topic]))
	p.Ask("by an unknown id", byID([16]byte{1, 2}))
	p.Ask("by no id", byID([16]byte{}))
	for v := int16(10); v <= 11; v++ {
		req := byID(p.topics[topic])
		req.SetVersion(v)
		p.AskAs(fmt.Sprintf("by id v%d", v), req)
	}
	both := byID(p.topics[topic])
	both.Topics[0].Topic = kmsg.StringPtr(topic)
	p.Ask("name and id", both)
	mixed := named(topic)
	mixed.Topics = append(mixed.Topics, byID(p.topics[topic]).Topics...)
	p.Ask("one by name, one by id", mixed)
	operations := named(topic)
	operations.IncludeTopicAuthorizedOperations = true
	p.Ask("operations of a topic", operations)
	cluster := named(topic)
	cluster.SetVersion(9)
	cluster.IncludeClusterAuthorizedOperations, cluster.IncludeTopicAuthorizedOperations = true, true
	p.AskAs("operations v9", cluster)
	p.made("auto", func(name string) *kmsg.MetadataRequest {
		req := named(name)
		req.AllowAutoTopicCreation = true
		p.latest(req)
		return req
	})
	bad := named("a/b")
	bad.AllowAutoTopicCreation = true
	p.Ask("not made with a bad name", bad)
	internal := named("__consumer_offsets")
	if resp, ok := p.quietly(internal).(*kmsg.MetadataResponse); ok && len(resp.Topics) == 1 {
		p.Note("is internal", fmt.Sprint(resp.Topics[0].IsInternal))
	}
}

// made asks for a topic that is then made, and writes down how it looks.
func (p *Probe) made(base string, ask func(name string) *kmsg.MetadataRequest) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		resp, ok := p.quietlyAs(ask(p.Name(base))).(*kmsg.MetadataResponse)
		if ok && resp.Topics[0].ErrorCode == 0 {
			p.Note(base+" made by asking", fmt.Sprint(len(resp.Topics[0].Partitions), len(resp.Topics[0].Partitions[0].Replicas)))
			return
		}
		// No leader yet, or nothing there yet.
		if code := resp.Topics[0].ErrorCode; code != 3 && code != 5 || time.Now().After(end) {
			p.stop("%s: code %d", base, code)
		}
	}
}
