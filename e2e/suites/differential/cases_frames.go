package main

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	cases["frames/lengths"] = func(p *Probe) {
		soon := 2 * time.Second
		p.Raw("negative", -1, nil, soon)
		p.Raw("huge", 104857601, nil, soon)
		p.Raw("most negative", -2147483648, nil, soon)
		p.Raw("none", 0, nil, soon)
		p.Raw("one byte", 1, []byte{0}, soon)
		p.Raw("as in HTTP", 0x47455420, []byte("/ HTTP/1.1\r\n\r\n"), soon)
		p.Raw("as in TLS", 0x16030100, []byte{0xc8, 1, 0, 0, 0xc4}, soon)
	}
	cases["frames/headers"] = func(p *Probe) {
		header := func(key, version int16, rest ...byte) []byte {
			h := binary.BigEndian.AppendUint16(nil, uint16(key))
			h = binary.BigEndian.AppendUint16(h, uint16(version))
			return append(binary.BigEndian.AppendUint32(h, 7), rest...)
		}
		raw := func(step string, body []byte) { p.Raw(step, int32(len(body)), body, 3*time.Second) }
		null := []byte{0xff, 0xff}
		raw("unknown key", header(999, 0, null...))
		raw("negative key", header(-1, 0, null...))
		raw("negative version", header(3, -1, null...))
		raw("a version too new", header(3, 99, null...))
		raw("a version too old", header(1, 0, null...))
		raw("a broker's own request", header(6, 8, null...))
		raw("a controller's own request", header(52, 2, null...))
		raw("header cut", header(3, 1)[:7])
		raw("client id cut", header(3, 1, 0, 9, 'a'))
		raw("client id of length -2", header(3, 1, 0xff, 0xfe))
		raw("versions, too new", header(18, 99, null...))
		raw("versions v0", header(18, 0, null...)[:10])
		raw("produce v2", header(0, 2, append(null, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0)...))
	}
	cases["frames/bodies"] = func(p *Probe) {
		body := func(req kmsg.Request) []byte {
			return kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, p.latest(req), 7)[4:]
		}
		raw := func(step string, body []byte) { p.Raw(step, int32(len(body)), body, 3*time.Second) }
		metadata := kmsg.NewPtrMetadataRequest()
		metadata.SetVersion(1)
		metadata.Topics = []kmsg.MetadataRequestTopic{}
		plain := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, metadata, 7)[4:]
		end := len(plain) - 4
		raw("array of 2^31-1", append(bytes.Clone(plain[:end]), 0x7f, 0xff, 0xff, 0xff))
		raw("array of -2", append(bytes.Clone(plain[:end]), 0xff, 0xff, 0xff, 0xfe))
		raw("array of 3, none there", append(bytes.Clone(plain[:end]), 0, 0, 0, 3))
		raw("name of -1", append(bytes.Clone(plain[:end]), 0, 0, 0, 1, 0xff, 0xff))
		raw("name beyond the end", append(bytes.Clone(plain[:end]), 0, 0, 0, 1, 0, 9, 'a'))
		raw("name of no UTF-8", append(bytes.Clone(plain[:end]), 0, 0, 0, 1, 0, 2, 0xc3, 0x28))
		heartbeat := body(heartbeatOf("g", "m", 1))
		raw("cut by one", heartbeat[:len(heartbeat)-1])
		raw("bytes behind", append(bytes.Clone(heartbeat), 1, 2, 3))
		tags := bytes.Clone(heartbeat[:len(heartbeat)-1])
		raw("unknown tag", append(bytes.Clone(tags), 1, 50, 2, 'x', 'y'))
		raw("tag twice", append(bytes.Clone(tags), 2, 50, 1, 'x', 50, 1, 'y'))
		raw("tags falling", append(bytes.Clone(tags), 2, 50, 1, 'x', 49, 1, 'y'))
		raw("tag beyond the end", append(bytes.Clone(tags), 1, 50, 9, 'x'))
		raw("tags without end", append(bytes.Clone(tags), 0xff, 0xff, 0xff, 0xff, 0x0f))
		raw("varint of six bytes", append(bytes.Clone(tags), 0x80, 0x80, 0x80, 0x80, 0x80, 0x00))
		acks := body(produceOf("t", [16]byte{1}, 0, 1, of("a").Bytes()))
		raw("produce cut in its records", acks[:len(acks)-20])
	}
	cases["frames/pipelined"] = func(p *Probe) {
		topic := p.Topic("t", 1)
		c, err := dial(p.target.at[p.target.brokers[0]])
		if err != nil {
			p.stop("cannot connect: %v", err)
		}
		defer c.Close()
		// A read that waits, and behind it what could be answered at once: answers keep the order.
		slow := p.Read(topic, 0)
		slow.MaxWaitMillis, slow.MinBytes = 300, 1
		asked := []kmsg.Request{slow, kmsg.NewPtrListGroupsRequest(), produceOf(topic, p.topics[topic], 0, 1, of("a").Bytes()), p.OffsetsAt(topic, -1)}
		for _, req := range asked {
			if err := c.send(p.latest(req)); err != nil {
				p.stop("cannot send: %v", err)
			}
		}
		for i := range asked {
			frame, err := c.receive(answerWithin)
			if err != nil {
				p.stop("answer %d: %v", i, err)
			}
			p.Note("answer "+string('0'+rune(i)), binary.BigEndian.Uint32(frame))
		}
	}
}
