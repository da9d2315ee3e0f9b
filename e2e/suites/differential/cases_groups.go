package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	cases["groups/join"] = joining
	cases["groups/one member"] = oneMember
	cases["groups/static member"] = staticMember
	cases["groups/two members"] = twoMembers
	cases["groups/offsets without members"] = offsetsWithoutMembers
	cases["groups/admin"] = groupAdmin
}

// joinOf is a good request to join; protocols are names in order of preference.
func joinOf(group, member string, protocols ...string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = group, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30_000, 30_000
	for _, name := range protocols {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, []byte("metadata of "+name)
		req.Protocols = append(req.Protocols, p)
	}
	return req
}

// Join joins, writes the answer down and returns the member's id, which is called as said from there on.
func (p *Probe) Join(step, alias string, req *kmsg.JoinGroupRequest) string {
	resp, ok := p.Ask(step, req).(*kmsg.JoinGroupResponse)
	if !ok {
		p.stop("%s was not answered", step)
	}
	p.Alias(resp.MemberID, alias)
	return resp.MemberID
}

// joinNew joins as a member that has no id yet: once to be given one, and once with it.
func (p *Probe) joinNew(step, alias, group string, protocols ...string) string {
	member := p.Join(step+" without id", alias, joinOf(group, "", protocols...))
	return p.Join(step+" with id", alias, joinOf(group, member, protocols...))
}

func syncOf(group, member string, generation int32, assigned ...string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	for _, a := range assigned {
		g := kmsg.NewSyncGroupRequestGroupAssignment()
		g.MemberID, g.MemberAssignment = a, []byte("for a member")
		req.GroupAssignment = append(req.GroupAssignment, g)
	}
	return req
}

func heartbeatOf(group, member string, generation int32) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	return req
}

func leaveOf(group string, members ...string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	for _, m := range members {
		req.MemberID = m
		l := kmsg.NewLeaveGroupRequestMember()
		l.MemberID = m
		req.Members = append(req.Members, l)
	}
	return req
}

func (p *Probe) commitOf(group, member string, generation int32, topic string, partition int32, offset int64, metadata *string) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, p.topics[topic]
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Partition, part.Offset, part.Metadata = partition, offset, metadata
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	return req
}

func (p *Probe) offsetsOf(group, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: partitions}}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, TopicID: p.topics[topic], Partitions: partitions}}
	req.Groups = append(req.Groups, g)
	return req
}

func describeOf(groups ...string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = groups
	return req
}

func joining(p *Probe) {
	group := p.Name("g")
	p.Ask("empty group", joinOf("", "", "range"))
	for _, ms := range []int32{5999, 0, -1, 1_800_001} {
		req := joinOf(group, "", "range")
		req.SessionTimeoutMillis = ms
		p.Ask(fmt.Sprint("session of ", ms), req)
	}
	p.Ask("no protocol", joinOf(group, ""))
	typeless := joinOf(group, "", "range")
	typeless.ProtocolType = ""
	p.Ask("no protocol type", typeless)
	p.Ask("unknown member", joinOf(group, "nobody", "range"))
	versions := p.target.shared[11]
	for v := versions[0]; v <= versions[1]; v++ {
		of := p.Name(fmt.Sprint("v", v))
		req := joinOf(of, "", "range", "roundrobin")
		req.SetVersion(v)
		resp, ok := p.AskAs(fmt.Sprintf("new v%d", v), req).(*kmsg.JoinGroupResponse)
		if !ok {
			p.stop("v%d was not answered", v)
		}
		p.Alias(resp.MemberID, fmt.Sprint("member", v))
		if v >= 8 {
			req = joinOf(of, resp.MemberID, "range", "roundrobin")
			req.SetVersion(v)
			p.AskAs(fmt.Sprintf("with id v%d", v), req)
		}
	}
}

func oneMember(p *Probe) {
	group, topic := p.Name("g"), p.Topic("t", 2)
	p.Ask("sync of an unknown group", syncOf(group, "nobody", 1))
	p.Ask("heartbeat of an unknown group", heartbeatOf(group, "nobody", 1))
	p.Ask("leave an unknown group", leaveOf(group, "nobody"))
	member := p.joinNew("first", "member", group, "range")
	p.Ask("describe while it syncs", describeOf(group))
	p.Ask("heartbeat before sync", heartbeatOf(group, member, 1))
	p.Ask("commit before sync", p.commitOf(group, member, 1, topic, 0, 1, nil))
	p.Ask("sync of a wrong generation", syncOf(group, member, 5, member))
	p.Ask("sync of an unknown member", syncOf(group, "nobody", 1, member))
	other := syncOf(group, member, 1, member)
	other.Protocol = kmsg.StringPtr("roundrobin")
	p.Ask("sync of another protocol", other)
	other = syncOf(group, member, 1, member)
	other.ProtocolType = kmsg.StringPtr("connect")
	p.Ask("sync of another type", other)
	p.Every("sync", func(int16) kmsg.Request { return syncOf(group, member, 1, member) })
	p.Every("heartbeat", func(int16) kmsg.Request { return heartbeatOf(group, member, 1) })
	p.Ask("heartbeat of a wrong generation", heartbeatOf(group, member, 2))
	p.Ask("heartbeat of generation -1", heartbeatOf(group, member, -1))
	p.Ask("heartbeat of an unknown member", heartbeatOf(group, "nobody", 1))
	p.Ask("heartbeat of an empty group", heartbeatOf("", member, 1))
	p.Every("commit", func(v int16) kmsg.Request {
		return p.commitOf(group, member, 1, topic, 0, int64(v), kmsg.StringPtr("note"))
	})
	p.Every("commit of a wrong generation", func(int16) kmsg.Request { return p.commitOf(group, member, 7, topic, 0, 1, nil) })
	p.Every("commit of an unknown member", func(int16) kmsg.Request { return p.commitOf(group, "nobody", 1, topic, 0, 1, nil) })
	p.Every("commit without generation", func(int16) kmsg.Request { return p.commitOf(group, "", -1, topic, 0, 1, nil) })
	p.Ask("commit of an unknown partition", p.commitOf(group, member, 1, topic, 9, 1, nil))
	p.Ask("commit of an unknown topic", p.commitOf(group, member, 1, p.Name("none"), 0, 1, nil))
	p.Ask("commit of -1", p.commitOf(group, member, 1, topic, 1, -1, nil))
	p.Ask("metadata of 4096", p.commitOf(group, member, 1, topic, 1, 3, kmsg.StringPtr(strings.Repeat("m", 4096))))
	p.Ask("metadata of 4097", p.commitOf(group, member, 1, topic, 1, 4, kmsg.StringPtr(strings.Repeat("m", 4097))))
	p.Every("offsets", func(int16) kmsg.Request { return p.offsetsOf(group, topic, 0, 1, 5) })
	p.Every("describe", func(int16) kmsg.Request { return describeOf(group) })
	p.Ask("joins again", joinOf(group, member, "range"))
	p.Ask("another type", func() kmsg.Request {
		req := joinOf(group, "", "range")
		req.ProtocolType = "connect"
		return req
	}())
	p.Ask("another protocol", joinOf(group, "", "sticky"))
	p.Ask("delete with a member", func() kmsg.Request {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{group}
		return req
	}())
	p.Every("leave of an unknown member", func(int16) kmsg.Request { return leaveOf(group, "nobody") })
	p.Ask("leave", leaveOf(group, member))
	p.Ask("leave again", leaveOf(group, member))
	p.Ask("heartbeat after leaving", heartbeatOf(group, member, 1))
	p.Ask("describe an empty one", describeOf(group))
	p.Ask("commit without generation to an empty one", p.commitOf(group, "", -1, topic, 0, 9, nil))
	p.Ask("offsets stay", p.offsetsOf(group, topic, 0, 1))
}

func staticMember(p *Probe) {
	group := p.Name("g")
	static := func(member, instance string) *kmsg.JoinGroupRequest {
		req := joinOf(group, member, "range")
		req.InstanceID = kmsg.StringPtr(instance)
		return req
	}
	member := p.Join("first", "member", static("", "i"))
	p.Ask("sync", syncOf(group, member, 1, member))
	wrong := heartbeatOf(group, "somebody", 1)
	wrong.InstanceID = kmsg.StringPtr("i")
	p.Ask("heartbeat of another member of the instance", wrong)
	p.Ask("join of another member of the instance", static("somebody", "i"))
	again := p.Join("comes back without id", "member2", static("", "i"))
	p.Ask("the old id", heartbeatOf(group, member, 1))
	p.Ask("the new id", heartbeatOf(group, again, 1))
	p.Ask("describe", describeOf(group))
	unknown := heartbeatOf(group, again, 1)
	unknown.InstanceID = kmsg.StringPtr("j")
	p.Ask("heartbeat of an unknown instance", unknown)
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group = group
	for _, i := range []string{"j", "i"} {
		m := kmsg.NewLeaveGroupRequestMember()
		m.InstanceID = kmsg.StringPtr(i)
		leave.Members = append(leave.Members, m)
	}
	p.Ask("leave by instance", leave)
	p.Ask("describe after leaving", describeOf(group))
}

// twoMembers goes on over two connections: a broker answers what it was asked on one connection in order.
func twoMembers(p *Probe) {
	group, topic := p.Name("g"), p.Topic("t", 1)
	first := p.joinNew("first", "first", group, "range", "roundrobin")
	p.Ask("first syncs", syncOf(group, first, 1, first))
	second := p.Join("second without id", "second", joinOf(group, "", "roundrobin", "range"))
	joined := p.beside(joinOf(group, second, "roundrobin", "range"))
	p.awaitState(group, "PreparingRebalance")
	p.Ask("describe", describeOf(group))
	p.Ask("heartbeat tells of the rebalance", heartbeatOf(group, first, 1))
	p.Ask("commit in a rebalance", p.commitOf(group, first, 1, topic, 0, 1, nil))
	p.Ask("sync in a rebalance", syncOf(group, first, 1))
	p.Ask("first joins again", joinOf(group, first, "range", "roundrobin"))
	p.write("second joined", joined)
	follows := p.beside(syncOf(group, second, 2))
	p.Ask("first syncs for both", syncOf(group, first, 2, first, second))
	p.write("second synced", follows)
	p.Ask("commit of the last generation", p.commitOf(group, first, 1, topic, 0, 1, nil))
	p.Ask("both leave", leaveOf(group, first, second))
	p.Ask("describe the empty one", describeOf(group))
}

func offsetsWithoutMembers(p *Probe) {
	group, topic := p.Name("g"), p.Topic("t", 2)
	p.Every("offsets of an unknown group", func(int16) kmsg.Request { return p.offsetsOf(group, topic, 0) })
	p.Every("commit with a generation", func(int16) kmsg.Request { return p.commitOf(group, "m", 3, topic, 0, 1, nil) })
	p.Every("commit", func(v int16) kmsg.Request { return p.commitOf(group, "", -1, topic, 1, int64(v), nil) })
	p.Ask("commit with a member's id only", p.commitOf(group, "m", -1, topic, 1, 50, nil))
	p.Ask("commit to an empty name", p.commitOf("", "", -1, topic, 1, 50, nil))
	p.Ask("describe", describeOf(group, p.Name("none"), ""))
	empty := kmsg.NewPtrDeleteGroupsRequest()
	empty.Groups = []string{""}
	p.Ask("delete the empty name", empty)
	p.Ask("describe the empty name", describeOf(""))
	old := describeOf(group, p.Name("none"))
	old.SetVersion(5)
	p.AskAs("describe v5", old)
	all := p.offsetsOf(group, topic)
	all.Groups[0].Topics = nil
	p.Ask("all offsets", all)
	two := p.offsetsOf(group, topic, 1)
	two.Groups = append(two.Groups, p.offsetsOf(p.Name("none"), topic, 0).Groups[0])
	p.Ask("offsets of two groups", two)
	p.Ask("offsets of an unknown topic", p.offsetsOf(group, p.Name("none"), 0))
	stable := p.offsetsOf(group, topic, 0, 1)
	stable.RequireStable = true
	p.Ask("stable offsets", stable)
	byMember := p.offsetsOf(group, topic, 1)
	byMember.Groups[0].MemberID, byMember.Groups[0].MemberEpoch = kmsg.StringPtr("m"), 4
	p.Ask("offsets for a member", byMember)
}

func groupAdmin(p *Probe) {
	topic := p.Topic("t", 2)
	a, b := p.Name("a"), p.Name("b")
	p.Ask("commit a", p.commitOf(a, "", -1, topic, 0, 5, nil))
	p.Ask("commit b", p.commitOf(b, "", -1, topic, 0, 6, nil))
	list := func(step string, req *kmsg.ListGroupsRequest) {
		resp, ok := p.quietly(req).(*kmsg.ListGroupsResponse)
		if !ok {
			p.stop("%s was not answered", step)
		}
		mine := map[string]string{}
		for _, g := range resp.Groups {
			if strings.HasPrefix(g.Group, p.prefix) {
				mine[p.renamed(g.Group)] = fmt.Sprintf("%q %q %q", g.ProtocolType, g.GroupState, g.GroupType)
			}
		}
		p.Note(step, fmt.Sprint(resp.ErrorCode, mine))
	}
	list("list", kmsg.NewPtrListGroupsRequest())
	for _, state := range []string{"Empty", "empty", "Stable", "Nonsense"} {
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter = []string{state}
		list("state "+state, req)
	}
	for _, kind := range []string{"classic", "Classic", "consumer", "nonsense"} {
		req := kmsg.NewPtrListGroupsRequest()
		req.TypesFilter = []string{kind}
		list("type "+kind, req)
	}
	forget := func(step, group string, topics ...string) {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		for _, t := range topics {
			req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: t, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 7}}})
		}
		p.Ask(step, req)
	}
	forget("forget offsets of an unknown group", p.Name("none"), topic)
	forget("forget offsets of an unknown topic", a, p.Name("none"))
	forget("forget offsets", a, topic)
	p.Ask("offsets are forgotten", p.offsetsOf(a, topic, 0))
	remove := func(step string, groups ...string) {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = groups
		p.Ask(step, req)
	}
	remove("delete unknown and known", p.Name("none"), b)
	remove("delete again", b)
	p.Ask("offsets of a deleted one", p.offsetsOf(b, topic, 0))
}
