package main

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
)

// started is when this run began: later times are what a broker's clock said.
var started = time.Now()

// Fields that say nothing about behaviour: texts for people, pauses, how much came before, and how large a disk is.
var ignored = map[string]bool{
	"Version": true, "UnknownTags": true, "ThrottleMillis": true, "ErrorMessage": true, "Documentation": true,
	"FinalizedFeaturesEpoch": true, "TotalBytes": true, "UsableBytes": true,
}

// Fields that name a broker.
var brokerFields = map[string]bool{
	"NodeID": true, "Leader": true, "LeaderID": true, "Replicas": true, "ISR": true, "OfflineReplicas": true,
	"ControllerID": true, "BrokerID": true, "PreferredReadReplica": true, "EligibleLeaderReplicas": true, "LastKnownELR": true,
}

// Lists whose order is that of a hash table in Kafka, so that no client can go by it.
var unordered = map[string]bool{
	"MetadataResponseTopic": true, "MetadataResponseBroker": true, "DescribeClusterResponseBroker": true,
	"DescribeConfigsResponseResourceConfig": true, "ListGroupsResponseGroup": true, "CreateTopicsResponseTopicConfig": true,
	"CreateTopicsResponseTopic": true, "DeleteTopicsResponseTopic": true, "CreatePartitionsResponseTopic": true,
	"DescribeLogDirsResponseDirTopic": true, "DescribeLogDirsResponseDirTopicPartition": true,
	"JoinGroupResponseMember": true, "DeleteGroupsResponseGroup": true, "OffsetDeleteResponseTopicPartition": true,
	"OffsetDeleteResponseTopic": true, "DescribeGroupsResponseGroupMember": true, "MetadataResponseTopicPartition": true,
	"ProduceResponseTopicPartition": true, "ProduceResponseTopic": true, "DescribeGroupsResponseGroup": true,
	"ApiVersionsResponseFinalizedFeature": true, "ApiVersionsResponseSupportedFeature": true, "ApiVersionsResponseApiKey": true,
}

// What names an element of a list, in this order of preference.
var keyFields = []string{
	"Topic", "TopicID", "Partition", "Group", "MemberID", "Name", "ResourceName", "NodeID", "ApiKey", "Coordinator", "Key",
}

func (p *Probe) render(v reflect.Value, path string, out map[string]string) {
	t := v.Type()
	for i := range t.NumField() {
		field := t.Field(i)
		if ignored[field.Name] || !field.IsExported() {
			continue
		}
		p.renderField(v.Field(i), field.Name, join(path, field.Name), out)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (p *Probe) renderField(v reflect.Value, name, path string, out map[string]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			out[path] = "null"
			return
		}
		if v.Elem().Kind() == reflect.Struct {
			p.render(v.Elem(), path, out)
			return
		}
		p.renderField(v.Elem(), name, path, out)
	case reflect.Struct:
		p.render(v, path, out)
	case reflect.Slice:
		p.renderList(v, name, path, out)
	default:
		out[path] = p.scalar(v, name)
	}
}

func (p *Probe) renderList(v reflect.Value, name, path string, out map[string]string) {
	switch {
	case v.Type().Elem().Kind() == reflect.Uint8 && name == "RecordBatches":
		renderBatches(v.Bytes(), path, out)
	case v.Type().Elem().Kind() == reflect.Uint8:
		out[path] = p.renamed(fmt.Sprintf("%q", v.Bytes()))
	case v.Type().Elem().Kind() == reflect.Struct:
		var order []string
		seen := map[string]int{}
		for i := range v.Len() {
			key := p.key(v.Index(i), i)
			if seen[key]++; seen[key] > 1 {
				key = fmt.Sprintf("%s#%d", key, seen[key])
			}
			order = append(order, key)
			p.render(v.Index(i), fmt.Sprintf("%s[%s]", path, key), out)
		}
		if unordered[v.Type().Elem().Name()] {
			sort.Strings(order)
		}
		out[path] = fmt.Sprint(order)
		if v.IsNil() {
			out[path] = "null"
		}
	default:
		var all []string
		for i := range v.Len() {
			all = append(all, p.scalar(v.Index(i), name))
		}
		out[path] = fmt.Sprint(all)
	}
}

// key names an element of a list by what it is about, else by its place.
func (p *Probe) key(v reflect.Value, place int) string {
	for _, name := range keyFields {
		f := v.FieldByName(name)
		if !f.IsValid() {
			continue
		}
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			f = f.Elem()
		}
		// A topic has a name in older versions, an id in newer ones.
		if f.IsZero() && (name == "Topic" || name == "TopicID") {
			continue
		}
		if f.Kind() == reflect.String && f.Len() == 0 {
			return `""`
		}
		return p.scalar(f, name)
	}
	return fmt.Sprint(place)
}

func (p *Probe) scalar(v reflect.Value, name string) string {
	switch v.Kind() {
	case reflect.String:
		return p.text(v.String(), name)
	case reflect.Array:
		id := [16]byte{}
		reflect.Copy(reflect.ValueOf(&id).Elem(), v)
		if id == [16]byte{} {
			return "no id"
		}
		if known, ok := p.topicIDs[id]; ok {
			return known
		}
		return "another id"
	case reflect.Int64:
		if alias, ok := p.producers[v.Int()]; ok && name == "ProducerID" {
			return alias
		}
		return clock(uint64(v.Int()))
	case reflect.Int32:
		if brokerFields[name] {
			return p.target.ordinal(int32(v.Int()))
		}
		if name == "Port" {
			return "a port"
		}
	}
	return fmt.Sprint(v.Interface())
}

func (p *Probe) text(s, name string) string {
	switch name {
	case "Host":
		if s != "" {
			return "a host"
		}
	case "ClientHost":
		return "a client's host"
	case "ClusterID":
		if s != "" {
			return "a cluster"
		}
	case "Dir":
		return "a directory"
	case "ResourceName":
		// Brokers have their ids for names.
		if id, err := strconv.ParseInt(s, 10, 32); err == nil {
			return p.target.ordinal(int32(id))
		}
	}
	return p.renamed(s)
}

// renamed puts what was agreed in the place of what each cluster or run calls its own.
func (p *Probe) renamed(s string) string {
	for value, alias := range p.aliases {
		s = strings.ReplaceAll(s, value, alias)
	}
	return strings.ReplaceAll(s, p.prefix, "")
}

// clock is a time in milliseconds, or that it was a broker's clock.
func clock(ms uint64) string {
	if at := int64(ms); at >= started.Add(-time.Minute).UnixMilli() && at <= time.Now().Add(time.Minute).UnixMilli() {
		return "now"
	}
	return fmt.Sprint(int64(ms))
}
