package main

import (
	"bytes"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	cases["produce/versions"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		p.Every("good", func(int16) kmsg.Request { return produceOf(topic, p.topics[topic], 0, -1, of("a", "b").Bytes()) })
		p.Every("unknown topic", func(int16) kmsg.Request {
			return produceOf(p.Name("none"), [16]byte{1}, 0, -1, of("a").Bytes())
		})
		p.Every("unknown partition", func(int16) kmsg.Request {
			return produceOf(topic, p.topics[topic], 7, -1, of("a").Bytes())
		})
		p.Log("log", topic)
	}
	cases["produce/acks"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		for _, acks := range []int16{1, -1, 2, -2} {
			p.Ask("acks "+string(rune('0'+acks+2)), produceOf(topic, p.topics[topic], 0, acks, of("a").Bytes()))
		}
		p.Unanswered("acks 0", p.latest(produceOf(topic, p.topics[topic], 0, 0, of("a").Bytes())))
		p.Unanswered("acks 0 refused", p.latest(produceOf(topic, p.topics[topic], 9, 0, of("a").Bytes())))
		p.Unanswered("acks 0 corrupt", p.latest(produceOf(topic, p.topics[topic], 0, 0, Batch{SpoilSealed: put32(atCRC, 1)}.Bytes())))
		p.Log("log", topic)
	}
	cases["produce/minimal in-sync"] = func(p *Probe) {
		topic := p.Topic("t", 1, "min.insync.replicas", "2")
		p.Produce("one replica, two asked for", topic, of("a"))
	}
	cases["produce/broken batches"] = brokenBatches
	cases["produce/null records"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		p.AskOf(0, "null", p.latest(produceOf(topic, p.topics[topic], 0, -1, nil)), 2*time.Second)
	}
	cases["produce/codecs"] = codecs
	cases["produce/timestamps"] = timestamps
	cases["produce/compacted"] = func(p *Probe) {
		topic := p.Topic("t", 1, "cleanup.policy", "compact")
		keyed := of("a", "b", "c")
		keyed.Records[0].Key, keyed.Records[1].Key = []byte("k"), []byte{}
		p.Produce("one keyless", topic, keyed)
		keyed.Records[2].Key = []byte("l")
		p.Produce("empty key", topic, keyed)
		tombstone := of("a")
		tombstone.Records[0] = Record{Key: []byte("k")}
		p.Produce("tombstone", topic, tombstone)
		p.Produce("all keyless", topic, of("a", "b"))
		compressed := of("a", "b")
		compressed.Codec = zstded
		compressed.Records[0].Key = []byte("k")
		p.Produce("one keyless, compressed", topic, compressed)
		p.Log("log", topic)
	}
	cases["produce/sizes"] = func(p *Probe) {
		small := p.Topic("small", 1, "max.message.bytes", "1000")
		p.Produce("too large", small, of(values(1, 1000)...))
		p.Produce("exactly", small, of(values(1, 1000-atRecords-9)...))
		p.Produce("one more", small, of(values(1, 1000-atRecords-8)...))
		many := of(values(100, 100)...)
		many.Codec = gzipped
		p.Produce("large before compression", small, many)
		segment := p.Topic("segment", 1, "segment.bytes", "1048576", "max.message.bytes", "4000000")
		p.Produce("larger than a segment", segment, of(values(1, 2_000_000)...))
		p.Log("log", small)
	}
	cases["produce/compression.type"] = func(p *Probe) {
		for _, kind := range []string{"uncompressed", "gzip", "producer"} {
			topic := p.Topic(kind, 1, "compression.type", kind)
			for _, codec := range []int{plain, gzipped, lz4ed} {
				b := of(values(20, 50)...)
				b.Codec = codec
				p.Produce(kind+" codec "+string(rune('0'+codec)), topic, b)
			}
			p.Log("log "+kind, topic)
		}
	}
	cases["produce/two topics"] = func(p *Probe) {
		a, b := p.Topic("a", 2), p.Topic("b", 1)
		req := produceOf(b, p.topics[b], 0, -1, of("b").Bytes())
		more := produceOf(a, p.topics[a], 1, -1, of("a1").Bytes())
		bad := kmsg.NewProduceRequestTopicPartition()
		bad.Partition, bad.Records = 0, Batch{Records: of("x").Records, SpoilSealed: put32(atCRC, 7)}.Bytes()
		more.Topics[0].Partitions = append(more.Topics[0].Partitions, bad)
		req.Topics = append(req.Topics, more.Topics...)
		p.Ask("good and bad", req)
	}
	cases["produce/idempotent"] = idempotent
	cases["produce/transactional"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		b := by(7, 0, 0, "a")
		b.Attributes = attrTransactional
		p.Produce("transactional batch, no id", topic, b)
		p.Log("log", topic)
	}
}

func brokenBatches(p *Probe) {
	topic := p.Topic("t", 1)
	with := func(spoil, sealed func([]byte) []byte) Batch {
		b := of("a", "b")
		b.Spoil, b.SpoilSealed = spoil, sealed
		return b
	}
	raw := func(step string, records []byte) {
		p.Ask(step, produceOf(topic, p.topics[topic], 0, -1, records))
	}
	// Where one side takes what the other refuses, later offsets would differ too: these have a topic of their own each.
	apart := func(step string, records []byte) {
		own := p.Topic(strings.ReplaceAll(step, " ", "-"), 1)
		p.Ask(step, produceOf(own, p.topics[own], 0, -1, records))
		p.Log("log, "+step, own)
	}
	p.Produce("bad crc", topic, with(nil, put32(atCRC, 1)))
	for magic := range byte(4) {
		if magic == 2 {
			continue
		}
		p.Produce("magic "+string('0'+rune(magic)), topic, with(nil, func(b []byte) []byte { b[atMagic] = magic; return b }))
	}
	p.Produce("magic 255", topic, with(nil, func(b []byte) []byte { b[atMagic] = 255; return b }))
	p.Produce("two batches", topic, of("a"), of("b"))
	raw("empty", []byte{})
	good := of("a", "b").Bytes()
	raw("cut in the header", good[:40])
	raw("cut in the first field", good[:7])
	raw("cut in the records", good[:len(good)-3])
	apart("bytes behind", append(bytes.Clone(good), 1, 2, 3))
	apart("a batch and half of one", append(bytes.Clone(good), good[:40]...))
	p.Produce("no records", topic, of())
	p.Produce("count too high", topic, with(put32(atCount, 3), nil))
	p.Produce("count too low", topic, with(put32(atCount, 1), nil))
	p.Produce("count negative", topic, with(put32(atCount, 0xffffffff), nil))
	p.Produce("count huge", topic, with(put32(atCount, 0x7fffffff), nil))
	p.Produce("last delta too high", topic, with(put32(atLastDelta, 5), nil))
	p.Produce("last delta too low", topic, with(put32(atLastDelta, 0), nil))
	p.Produce("last delta negative", topic, with(put32(atLastDelta, 0xffffffff), nil))
	p.Produce("length too low", topic, with(nil, put32(atLength, 20)))
	p.Produce("length too high", topic, with(nil, put32(atLength, 5000)))
	p.Produce("length negative", topic, with(nil, put32(atLength, 0xfffffff0)))
	p.Produce("length tiny", topic, with(nil, put32(atLength, 3)))
	p.Produce("base offset 5", topic, with(nil, put64(0, 5)))
	p.Produce("base offset -1", topic, with(nil, put64(0, 0xffffffffffffffff)))
	p.Produce("leader epoch 9", topic, with(nil, put32(12, 9)))
	p.Produce("control batch", topic, with(put16(atAttributes, attrControl), nil))
	apart("delete horizon", with(put16(atAttributes, 0x40), nil).Bytes())
	apart("unknown attribute", with(put16(atAttributes, 0x80), nil).Bytes())
	p.Produce("codec 5", topic, with(put16(atAttributes, 5), nil))
	p.Produce("codec 7", topic, with(put16(atAttributes, 7), nil))
	record := func(change func([]byte)) Batch {
		return with(func(b []byte) []byte { change(b[atRecords:]); return b }, nil)
	}
	p.Produce("record length too high", topic, record(func(r []byte) { r[0] = 60 }))
	p.Produce("record length too low", topic, record(func(r []byte) { r[0] = 4 }))
	p.Produce("record length negative", topic, record(func(r []byte) { r[0] = 1 }))
	p.Produce("record attributes", topic, record(func(r []byte) { r[1] = 1 }))
	apart("record offset delta 1 first", record(func(r []byte) { r[3] = 2 }).Bytes())
	p.Produce("record key length beyond", topic, record(func(r []byte) { r[4] = 100 }))
	p.Produce("record value length -2", topic, record(func(r []byte) { r[5] = 3 }))
	p.Produce("record headers negative", topic, record(func(r []byte) { r[7] = 1 }))
	p.Produce("records are noise", topic, Batch{Records: of("a").Records, Payload: bytes.Repeat([]byte{0xff}, 50), At: longAgo, Producer: -1, Epoch: -1, Sequence: -1})
	p.Log("log", topic)
}

func codecs(p *Probe) {
	topic := p.Topic("t", 1)
	names := []string{"plain", "gzip", "snappy", "lz4", "zstd"}
	for codec, name := range names {
		b := of(values(10, 40)...)
		b.Codec = codec
		p.Produce(name, topic, b)
	}
	for codec, name := range names[1:] {
		b := of("a", "b")
		b.Codec = codec + 1
		b.Payload = []byte("this is not compressed by anybody")
		p.Produce("noise as "+name, topic, b)
		b.Payload = []byte{}
		p.Produce("nothing as "+name, topic, b)
		whole := compressed(codec+1, of(values(10, 40)...).Bytes()[atRecords:])
		b = of(values(10, 40)...)
		b.Codec, b.Payload = codec+1, whole[:len(whole)-6]
		p.Produce("cut "+name, p.Topic("cut-"+name, 1), b)
		b.Payload = append(bytes.Clone(whole), 0, 0, 0)
		p.Produce("bytes behind "+name, p.Topic("behind-"+name, 1), b)
		b = of(values(10, 40)...)
		b.Codec, b.Spoil = codec+1, put32(atCount, 11)
		p.Produce("count too high in "+name, topic, b)
	}
	old := produceOf(topic, [16]byte{}, 0, -1, Batch{Records: of("a").Records, Codec: zstded, At: longAgo, Producer: -1, Epoch: -1, Sequence: -1}.Bytes())
	old.SetVersion(6)
	p.AskAs("zstd before v7", old)
	p.Log("log", topic)
}

func timestamps(p *Probe) {
	create := p.Topic("create", 1)
	at := func(ms int64) Batch { b := of("a", "b"); b.At = ms; return b }
	hours := func(n int) int64 { return started.Add(time.Duration(n) * time.Hour).UnixMilli() }
	p.Produce("two hours ahead", create, at(hours(2)))
	p.Produce("ten years ahead", create, at(hours(87600)))
	later := at(longAgo)
	later.Records[1].Later = hours(2) - longAgo
	p.Produce("second record ahead", create, later)
	p.Produce("-1", create, at(-1))
	p.Produce("-2", create, at(-2))
	p.Produce("0", create, at(0))
	p.Produce("max timestamp wrong", create, func() Batch { b := at(longAgo); b.Spoil = put64(atMaxTime, uint64(longAgo+999)); return b }())
	p.Produce("attribute log append time", create, func() Batch { b := at(longAgo); b.Attributes = attrLogAppendTime; return b }())
	p.Log("log create", create)
	bounded := p.Topic("bounded", 1, "message.timestamp.before.max.ms", "1000", "message.timestamp.after.max.ms", "1000")
	p.Produce("before", bounded, at(longAgo))
	p.Produce("after", bounded, at(hours(1)))
	p.Produce("none", bounded, at(-1))
	appended := p.Topic("append", 1, "message.timestamp.type", "LogAppendTime")
	p.Produce("append time", appended, at(longAgo))
	p.Produce("append time, ahead", appended, at(hours(500)))
	p.Produce("append time, -1", appended, at(-1))
	zipped := at(longAgo)
	zipped.Codec = gzipped
	p.Produce("append time, compressed", appended, zipped)
	p.Log("log append", appended)
}

func idempotent(p *Probe) {
	topic := p.Topic("t", 1)
	p.Produce("unknown producer, sequence 5", topic, by(1001, 0, 5, "a"))
	p.Produce("next", topic, by(1001, 0, 6, "b", "c"))
	p.Produce("repeated", topic, by(1001, 0, 6, "b", "c"))
	p.Produce("repeated, longer", topic, by(1001, 0, 6, "b", "c", "d"))
	p.Produce("gap", topic, by(1001, 0, 9, "e"))
	for i := range int32(5) {
		p.Produce("five more "+string('0'+i), topic, by(1001, 0, 8+i, "f"))
	}
	p.Produce("fifth last again", topic, by(1001, 0, 8, "f"))
	p.Produce("sixth last again", topic, by(1001, 0, 6, "b", "c"))
	p.Produce("first again", topic, by(1001, 0, 5, "a"))
	p.Produce("higher epoch, sequence 3", topic, by(1001, 1, 3, "g"))
	p.Produce("higher epoch, sequence 0", topic, by(1001, 1, 0, "g"))
	p.Produce("lower epoch", topic, by(1001, 0, 13, "h"))
	p.Produce("epoch -1", topic, by(1001, -1, 1, "h"))
	p.Produce("epoch without sequence", topic, by(1001, 1, -1, "h"))
	p.Produce("sequence without producer", topic, by(-1, -1, 4, "h"))
	p.Produce("negative producer", topic, by(-2, 0, 0, "h"))
	p.Produce("before the wrap", topic, by(1002, 0, 2147483646, "i", "j"))
	p.Produce("after the wrap", topic, by(1002, 0, 0, "k"))
	p.Produce("across the wrap", topic, by(1003, 0, 2147483646, "l", "m", "n"))
	p.Produce("after across the wrap", topic, by(1003, 0, 1, "o"))
	compressed := by(1004, 3, 0, "p", "q")
	compressed.Codec = snappied
	p.Produce("compressed", topic, compressed)
	p.Produce("compressed again", topic, compressed)
	p.Log("log", topic)
}
