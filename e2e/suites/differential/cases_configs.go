package main

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	topicResource  = kmsg.ConfigResourceTypeTopic
	brokerResource = kmsg.ConfigResourceTypeBroker
)

// How an incremental change of a configuration works.
const (
	set = iota
	remove
	appendTo
	subtract
)

func describeConfigs(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	return req
}

func init() {
	cases["configs/describe topic"] = func(p *Probe) {
		topic := p.Topic("t", 1, "retention.ms", "604800000", "cleanup.policy", "compact,delete")
		p.Ask("all", describeConfigs(topicResource, topic))
		p.Every("two", func(int16) kmsg.Request {
			return describeConfigs(topicResource, topic, "retention.ms", "segment.bytes")
		})
		p.Ask("an unknown key", describeConfigs(topicResource, topic, "no.such.key"))
		none := describeConfigs(topicResource, topic)
		none.Resources[0].ConfigNames = []string{}
		p.Ask("no key", none)
		brief := describeConfigs(topicResource, topic, "retention.ms")
		brief.IncludeSynonyms, brief.IncludeDocumentation = false, false
		p.Ask("without synonyms", brief)
		p.Ask("unknown topic", describeConfigs(topicResource, p.Name("none")))
		p.Ask("bad name", describeConfigs(topicResource, "a/b"))
		p.Ask("no name", describeConfigs(topicResource, ""))
		twice := describeConfigs(topicResource, topic, "retention.ms")
		twice.Resources = append(twice.Resources, twice.Resources[0])
		p.Ask("twice", twice)
		p.Ask("unknown kind", describeConfigs(77, "x"))
		p.Ask("kind 0", describeConfigs(0, "x"))
		docs := p.quietly(describeConfigs(topicResource, topic)).(*kmsg.DescribeConfigsResponse)
		undocumented := 0
		for _, c := range docs.Resources[0].Configs {
			if c.Documentation == nil || *c.Documentation == "" {
				undocumented++
			}
		}
		p.Note("keys without documentation", undocumented)
	}
	cases["configs/describe broker"] = func(p *Probe) {
		id := strconv.Itoa(int(p.target.brokers[0]))
		p.Ask("some", describeConfigs(brokerResource, id, "log.retention.ms", "num.io.threads", "log.segment.bytes", "min.insync.replicas", "unclean.leader.election.enable", "message.max.bytes", "log.cleaner.threads"))
		p.Ask("cluster's default", describeConfigs(brokerResource, ""))
		p.Ask("another broker", describeConfigs(brokerResource, "4711"))
		p.Ask("not a number", describeConfigs(brokerResource, "one"))
		p.Ask("loggers", describeConfigs(kmsg.ConfigResourceTypeBrokerLogger, id, "no.such.Logger"))
	}
	cases["configs/incremental"] = incremental
	cases["configs/replace"] = func(p *Probe) {
		topic := p.Topic("t", 1, "retention.ms", "1000", "segment.bytes", "2000000")
		ask := func(step string, only bool, configs ...string) {
			req := kmsg.NewPtrAlterConfigsRequest()
			req.ValidateOnly = only
			r := kmsg.NewAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName = topicResource, topic
			for i := 0; i+1 < len(configs); i += 2 {
				r.Configs = append(r.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: configs[i], Value: kmsg.StringPtr(configs[i+1])})
			}
			req.Resources = append(req.Resources, r)
			p.Ask(step, req)
			p.settle()
			p.Ask(step+", after", describeConfigs(topicResource, topic, "retention.ms", "segment.bytes"))
		}
		ask("only a check", true, "retention.ms", "5")
		ask("one key", false, "retention.ms", "6")
		ask("a bad one", false, "retention.ms", "x")
		ask("an unknown one", false, "no.such.key", "x")
		ask("a key twice", false, "retention.ms", "8", "retention.ms", "9")
		ask("none", false)
		null := kmsg.NewPtrAlterConfigsRequest()
		null.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topicResource, ResourceName: topic, Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms"}}}}
		p.Ask("null", null)
		none := kmsg.NewPtrAlterConfigsRequest()
		none.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topicResource, ResourceName: p.Name("none")}}
		p.Ask("unknown topic", none)
		both := kmsg.NewPtrAlterConfigsRequest()
		both.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topicResource, ResourceName: topic}, {ResourceType: topicResource, ResourceName: topic}}
		p.Ask("a resource twice", both)
		kind := kmsg.NewPtrAlterConfigsRequest()
		kind.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: 77, ResourceName: "x"}}
		p.Ask("an unknown kind", kind)
	}
	cases["configs/list resources"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		for _, kinds := range [][]int8{{}, {int8(topicResource)}, {int8(brokerResource)}, {int8(topicResource), int8(brokerResource)}, {77}} {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.ResourceTypes = kinds
			resp, ok := p.quietly(req).(*kmsg.ListConfigResourcesResponse)
			if !ok {
				p.stop("not answered")
			}
			// Other cases have topics of their own.
			found := map[string]bool{}
			for _, r := range resp.ConfigResources {
				if kmsg.ConfigResourceType(r.Type) == brokerResource || r.Name == topic {
					found[fmt.Sprint(r.Type)] = true
				}
			}
			p.Note(fmt.Sprint("kinds ", kinds), fmt.Sprint(resp.ErrorCode, found))
		}
	}
}

func incremental(p *Probe) {
	topic := p.Topic("t", 1)
	type change struct {
		op    int8
		key   string
		value string
	}
	make1 := func(resource string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = topicResource, resource
		for _, c := range changes {
			one := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: c.key, Op: kmsg.IncrementalAlterConfigOp(c.op), Value: kmsg.StringPtr(c.value)}
			if c.value == "null" {
				one.Value = nil
			}
			r.Configs = append(r.Configs, one)
		}
		req.Resources = append(req.Resources, r)
		return req
	}
	keys := []string{"retention.ms", "cleanup.policy", "follower.replication.throttled.replicas", "segment.bytes"}
	ask := func(step string, changes ...change) {
		p.Ask(step, make1(topic, changes...))
		p.settle()
		p.Ask(step+", after", describeConfigs(topicResource, topic, keys...))
	}
	ask("set", change{set, "retention.ms", "1000"})
	ask("set to the default", change{set, "segment.bytes", "1073741824"})
	ask("append", change{appendTo, "cleanup.policy", "compact"})
	ask("append what is there", change{appendTo, "cleanup.policy", "compact"})
	ask("subtract", change{subtract, "cleanup.policy", "delete"})
	ask("subtract what is not there", change{subtract, "cleanup.policy", "delete"})
	ask("subtract the last", change{subtract, "cleanup.policy", "compact"})
	ask("append to an empty list", change{appendTo, "follower.replication.throttled.replicas", "0:1,0:2"})
	ask("append one more", change{appendTo, "follower.replication.throttled.replicas", "1:1"})
	ask("append to no list", change{appendTo, "retention.ms", "5"})
	ask("subtract from no list", change{subtract, "retention.ms", "5"})
	ask("delete", change{remove, "retention.ms", "null"})
	ask("delete what is not set", change{remove, "retention.ms", "null"})
	ask("delete with a value", change{remove, "segment.bytes", "7"})
	ask("set null", change{set, "retention.ms", "null"})
	ask("append null", change{appendTo, "cleanup.policy", "null"})
	ask("a bad value", change{set, "retention.ms", "x"})
	ask("an unknown key", change{set, "no.such.key", "x"})
	ask("delete an unknown key", change{remove, "no.such.key", "null"})
	ask("an unknown way", change{9, "retention.ms", "1"})
	ask("a key twice", change{set, "retention.ms", "1"}, change{set, "retention.ms", "2"})
	ask("one good, one bad", change{set, "retention.ms", "77"}, change{set, "segment.bytes", "x"})
	ask("nothing")
	only := make1(topic, change{set, "retention.ms", "4242"})
	only.ValidateOnly = true
	p.Ask("only a check", only)
	only = make1(topic, change{set, "retention.ms", "x"})
	only.ValidateOnly = true
	p.Ask("only a check of a bad one", only)
	p.settle()
	p.Ask("after checks", describeConfigs(topicResource, topic, keys...))
	p.Ask("unknown topic", make1(p.Name("none"), change{set, "retention.ms", "1"}))
	p.Ask("bad name", make1("a/b", change{set, "retention.ms", "1"}))
	p.Ask("no name", make1("", change{set, "retention.ms", "1"}))
	twice := make1(topic, change{set, "retention.ms", "1"})
	twice.Resources = append(twice.Resources, make1(topic, change{set, "segment.bytes", "3000000"}).Resources...)
	p.Ask("a resource twice", twice)
	two := make1(p.Name("none"), change{set, "retention.ms", "1"})
	two.Resources = append(two.Resources, make1(topic, change{set, "retention.ms", "31"}).Resources...)
	p.Ask("unknown and known", two)
	p.Every("every version", func(v int16) kmsg.Request {
		return make1(topic, change{set, "retention.ms", strconv.Itoa(int(v) + 100)})
	})
	p.settle()
	p.Ask("at the end", describeConfigs(topicResource, topic, keys...))
	kind := make1("x", change{set, "retention.ms", "1"})
	kind.Resources[0].ResourceType = 77
	p.Ask("an unknown kind", kind)
	broker := make1("4711", change{set, "log.retention.ms", "1"})
	broker.Resources[0].ResourceType = brokerResource
	p.Ask("another broker", broker)
	broker = make1("x", change{set, "log.retention.ms", "1"})
	broker.Resources[0].ResourceType = brokerResource
	p.Ask("a broker without number", broker)
	broker = make1("", change{set, "node.id", "1"})
	broker.Resources[0].ResourceType = brokerResource
	p.Ask("a broker's fixed key", broker)
}
