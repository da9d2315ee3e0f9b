package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerWithin is how long an answer is waited for where the case does not say otherwise.
const answerWithin = 30 * time.Second

// A Probe runs one case against one cluster and writes down what it sees.
type Probe struct {
	target *Target
	name   string
	// Begins every name that a case makes, so that a cluster can be used again; left out of what is compared.
	prefix string
	conns  map[int]*Conn
	seen   []sight
	// What brokers choose for themselves, and what it is called in what is compared.
	aliases   map[string]string
	topicIDs  map[[16]byte]string
	topics    map[string][16]byte
	producers map[int64]string
	settled   int
}

// sight is a step before it is written out: aliases may come later.
type sight struct {
	name string
	end  string
	resp kmsg.Response
	text map[string]string
}

func newProbe(target *Target, name, prefix string) *Probe {
	return &Probe{
		target: target, name: name, prefix: prefix + strings.NewReplacer("/", "-", " ", "-").Replace(name) + "-", conns: map[int]*Conn{},
		aliases: map[string]string{}, topicIDs: map[[16]byte]string{}, topics: map[string][16]byte{}, producers: map[int64]string{},
	}
}

func (p *Probe) close() {
	for _, c := range p.conns {
		c.Close()
	}
}

// stopped ends a case that cannot go on.
type stopped struct{ why string }

// stop ends the case, which then counts as a difference.
func (p *Probe) stop(format string, args ...any) { panic(stopped{fmt.Sprintf(format, args...)}) }

func (p *Probe) run(body func(*Probe)) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			p.seen = append(p.seen, sight{name: stoppedStep, end: s.why})
		}
	}()
	body(p)
}

func (p *Probe) steps() []Step {
	var steps []Step
	for _, s := range p.seen {
		step := Step{Name: s.name, End: s.end, Fields: map[string]string{}}
		for k, v := range s.text {
			step.Fields[k] = p.renamed(v)
		}
		if s.resp != nil {
			p.render(reflect.ValueOf(s.resp).Elem(), "", step.Fields)
		}
		steps = append(steps, step)
	}
	return steps
}

// === requests ===

func (p *Probe) conn(broker int) (*Conn, error) {
	if c := p.conns[broker]; c != nil {
		return c, nil
	}
	c, err := dial(p.target.at[p.target.brokers[broker]])
	if err == nil {
		p.conns[broker] = c
	}
	return c, err
}

// latest gives req the highest version that all three speak, unless it has one.
func (p *Probe) latest(req kmsg.Request) kmsg.Request {
	v, ok := p.target.shared[req.Key()]
	if !ok {
		p.stop("%s is not offered by both", kmsg.NameForKey(req.Key()))
	}
	req.SetVersion(v[1])
	return req
}

// Ask sends req in its latest version to the first broker, and writes the answer down under step.
func (p *Probe) Ask(step string, req kmsg.Request) kmsg.Response {
	return p.AskAs(step, p.latest(req))
}

// AskAs sends req in the version it has.
func (p *Probe) AskAs(step string, req kmsg.Request) kmsg.Response {
	return p.AskOf(0, step, req, answerWithin)
}

// AskOf sends req in the version it has to a broker, by its ordinal.
func (p *Probe) AskOf(broker int, step string, req kmsg.Request, within time.Duration) kmsg.Response {
	resp, err := p.call(broker, req, within)
	// From version 4 on the list of coordinators says it, and these fields are not sent.
	if found, ok := resp.(*kmsg.FindCoordinatorResponse); ok && found.Version >= 4 {
		found.NodeID, found.Port = -1, -1
	}
	p.seen = append(p.seen, sight{name: step, end: end(err), resp: resp})
	return resp
}

// Every sends what build makes in every shared version.
func (p *Probe) Every(step string, build func(version int16) kmsg.Request) {
	key := build(0).Key()
	versions, ok := p.target.shared[key]
	if !ok {
		p.stop("%s is not offered by both", kmsg.NameForKey(key))
	}
	for v := versions[0]; v <= versions[1]; v++ {
		req := build(v)
		req.SetVersion(v)
		p.AskAs(fmt.Sprintf("%s v%d", step, v), req)
	}
}

// quietly asks without writing it down.
func (p *Probe) quietly(req kmsg.Request) kmsg.Response { return p.quietlyAs(p.latest(req)) }

// quietlyAs does so in the version that req has.
func (p *Probe) quietlyAs(req kmsg.Request) kmsg.Response {
	resp, err := p.call(0, req, answerWithin)
	if err != nil {
		p.stop("%s was not answered: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp
}

func (p *Probe) call(broker int, req kmsg.Request, within time.Duration) (kmsg.Response, error) {
	c, err := p.conn(broker)
	if err != nil {
		return nil, err
	}
	resp, err := c.call(req, within)
	if err != nil {
		c.Close()
		delete(p.conns, broker)
		return nil, err
	}
	return resp, nil
}

// beside sends req in its latest version on a connection of its own and hands its answer over when it comes.
func (p *Probe) beside(req kmsg.Request) <-chan sight {
	p.latest(req)
	answered := make(chan sight, 1)
	go func() {
		c, err := dial(p.target.at[p.target.brokers[0]])
		if err != nil {
			answered <- sight{end: end(err)}
			return
		}
		defer c.Close()
		resp, err := c.call(req, answerWithin)
		answered <- sight{end: end(err), resp: resp}
	}()
	return answered
}

// write waits for what beside has sent and writes it down.
func (p *Probe) write(step string, answered <-chan sight) {
	s := <-answered
	s.name = step
	p.seen = append(p.seen, s)
}

// awaitState waits until a group is in a state.
func (p *Probe) awaitState(group, state string) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{group}
		if p.quietly(req).(*kmsg.DescribeGroupsResponse).Groups[0].State == state {
			return
		}
		if time.Now().After(end) {
			p.stop("never %s", state)
		}
	}
}

// Raw sends bytes behind their length on a connection of their own and writes down whether an answer began to come.
func (p *Probe) Raw(step string, length int32, body []byte, within time.Duration) {
	c, err := dial(p.target.at[p.target.brokers[0]])
	if err != nil {
		p.stop("cannot connect: %v", err)
	}
	defer c.Close()
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(length)), body...)
	if _, err := c.Write(frame); err != nil {
		p.seen = append(p.seen, sight{name: step, end: end(errClosed)})
		return
	}
	answer, err := c.receive(within)
	text := map[string]string{}
	if err == nil {
		// Number of the request, and what follows: an error's code in most answers.
		text["beginning"] = fmt.Sprintf("%x", answer[:min(6, len(answer))])
	}
	p.seen = append(p.seen, sight{name: step, end: end(err), text: text})
}

// Unanswered sends req, which asks for no answer, and a second request behind it: it tells whether the connection lives.
func (p *Probe) Unanswered(step string, req kmsg.Request) {
	c, err := p.conn(0)
	if err != nil {
		p.stop("cannot connect: %v", err)
	}
	how := "no answer, goes on"
	if err := c.send(req); err != nil {
		how = "closed"
	} else if _, err := c.call(p.latest(kmsg.NewPtrListGroupsRequest()), answerWithin); err != nil {
		how = end(err)
	}
	if how != "no answer, goes on" {
		c.Close()
		delete(p.conns, 0)
	}
	p.seen = append(p.seen, sight{name: step, end: how})
}

// Note writes down something that was worked out from answers.
func (p *Probe) Note(step string, value any) {
	p.seen = append(p.seen, sight{name: step, end: "answered", text: map[string]string{"value": fmt.Sprint(value)}})
}

func end(err error) string {
	switch {
	case err == nil:
		return "answered"
	case errors.Is(err, errClosed), errors.Is(err, errSilent):
		return err.Error()
	default:
		return "failed: " + err.Error()
	}
}

// === names ===

// Name is a name that no other case uses.
func (p *Probe) Name(base string) string { return p.prefix + base }

// Alias says what a value is called that the broker chose.
func (p *Probe) Alias(value, name string) {
	if value != "" {
		p.aliases[value] = name
	}
}

// Topic makes a topic with one replica and waits until its leaders take requests.
func (p *Probe) Topic(base string, partitions int, configs ...string) string {
	return p.TopicOn(base, partitions, 1, configs...)
}

// TopicOn makes a topic with a replication factor; configs are keys and values in turn.
func (p *Probe) TopicOn(base string, partitions, replicas int, configs ...string) string {
	name := p.Name(base)
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), int16(replicas)
	for i := 0; i+1 < len(configs); i += 2 {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = configs[i], kmsg.StringPtr(configs[i+1])
		topic.Configs = append(topic.Configs, config)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 30_000
	req.Topics = append(req.Topics, topic)
	resp := p.quietly(req).(*kmsg.CreateTopicsResponse)
	if code := resp.Topics[0].ErrorCode; code != 0 {
		p.stop("topic %s was not made: %d", base, code)
	}
	p.knowTopic(name, base, resp.Topics[0].TopicID)
	p.awaitLeaders(name, partitions)
	return name
}

func (p *Probe) knowTopic(name, base string, id [16]byte) {
	p.topicIDs[id], p.topics[name] = "id-of-"+base, id
}

// settle waits until the first broker has applied what was changed before: metadata has one order, and a topic that is
// made now is seen after it.
func (p *Probe) settle() {
	p.settled++
	name := p.Name(fmt.Sprint("settled", p.settled))
	p.quietly(creation(name, 1, 1))
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		req := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
		if p.quietly(req).(*kmsg.MetadataResponse).Topics[0].ErrorCode == 0 {
			return
		}
		if time.Now().After(end) {
			p.stop("a new topic is not seen")
		}
	}
}

// awaitLeaders waits until every partition's leader answers as one: metadata comes before the log is there.
func (p *Probe) awaitLeaders(name string, partitions int) {
	for end := time.Now().Add(30 * time.Second); ; {
		ready := 0
		for n := range partitions {
			req := kmsg.NewPtrListOffsetsRequest()
			req.ReplicaID = -1
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = name
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.Partition, part.Timestamp, part.CurrentLeaderEpoch = int32(n), -1, -1
			t.Partitions = append(t.Partitions, part)
			req.Topics = append(req.Topics, t)
			for b := range p.target.brokers {
				resp, err := p.call(b, p.latest(req), answerWithin)
				if err != nil {
					break
				}
				if resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode == 0 {
					ready++
					break
				}
			}
		}
		if ready == partitions {
			return
		}
		if time.Now().After(end) {
			p.stop("no leader of %s within 30 s", name)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
