package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests about the log of one partition, as the cases need them.

func produceOf(topic string, id [16]byte, partition int32, acks int16, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 10_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, id
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// Produce appends to partition 0 with acks=all, in the latest version.
func (p *Probe) Produce(step, topic string, batches ...Batch) *kmsg.ProduceResponse {
	var records []byte
	for _, b := range batches {
		records = append(records, b.Bytes()...)
	}
	resp, _ := p.Ask(step, produceOf(topic, p.topics[topic], 0, -1, records)).(*kmsg.ProduceResponse)
	return resp
}

// A Read is a fetch of partition 0 without a session that does not wait, but for what a case changes.
func (p *Probe) Read(topic string, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 0, 0, 50<<20
	req.SessionEpoch = -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, p.topics[topic]
	part := kmsg.NewFetchRequestTopicPartition()
	part.FetchOffset, part.PartitionMaxBytes = offset, 10<<20
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	return req
}

// Log writes down what a consumer reads from the beginning of partition 0.
func (p *Probe) Log(step, topic string) { p.Ask(step, p.Read(topic, p.start(topic))) }

func (p *Probe) start(topic string) int64 {
	resp := p.quietly(p.OffsetsAt(topic, -2)).(*kmsg.ListOffsetsResponse)
	return resp.Topics[0].Partitions[0].Offset
}

// OffsetsAt asks for one timestamp, or one of the negative ones that have a meaning.
func (p *Probe) OffsetsAt(topic string, timestamp int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Timestamp, part.CurrentLeaderEpoch = timestamp, -1
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	return req
}

// DeleteBefore asks to delete the records below an offset.
func (p *Probe) DeleteBefore(topic string, partition int32, offset int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Partition, part.Offset = partition, offset
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	return req
}

// values are n values of some bytes each.
func values(n, size int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%0*d", size, i))
	}
	return all
}
