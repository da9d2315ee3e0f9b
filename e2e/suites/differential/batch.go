package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// longAgo is the time of records that no test asks anything of: fixed, so that both sides store the same bytes.
const longAgo = int64(1_700_000_000_000)

const (
	plain = iota
	gzipped
	snappied
	lz4ed
	zstded
)

// Bits of a batch's attributes beside the codec.
const (
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

// A Record of a batch. A nil key or value is null.
type Record struct {
	Key, Value []byte
	// Added to the batch's first timestamp.
	Later int64
}

// A Batch of format 2, right in everything that is not set otherwise.
type Batch struct {
	Records    []Record
	Codec      int
	Attributes int16
	BaseOffset int64
	At         int64
	Producer   int64
	Epoch      int16
	Sequence   int32
	// Spoils the bytes: before the checksum is made, and after.
	Spoil, SpoilSealed func([]byte) []byte
	// What stands for the records instead.
	Payload []byte
}

// Offsets of fields in a batch's bytes.
const (
	atLength     = 8
	atMagic      = 16
	atCRC        = 17
	atAttributes = 21
	atLastDelta  = 23
	atFirstTime  = 27
	atMaxTime    = 35
	atProducer   = 43
	atEpoch      = 51
	atSequence   = 53
	atCount      = 57
	atRecords    = 61
)

// of is a batch of values without keys, as any producer would send it.
func of(values ...string) Batch {
	b := Batch{At: longAgo, Producer: -1, Epoch: -1, Sequence: -1}
	for _, v := range values {
		b.Records = append(b.Records, Record{Value: []byte(v)})
	}
	return b
}

// by is a batch of an idempotent producer.
func by(producer int64, epoch int16, sequence int32, values ...string) Batch {
	b := of(values...)
	b.Producer, b.Epoch, b.Sequence = producer, epoch, sequence
	return b
}

func (b Batch) Bytes() []byte {
	var records []byte
	var latest int64
	for i, r := range b.Records {
		latest = max(latest, r.Later)
		body := []byte{0}
		body = binary.AppendVarint(body, r.Later)
		body = binary.AppendVarint(body, int64(i))
		for _, f := range [][]byte{r.Key, r.Value} {
			if f == nil {
				body = binary.AppendVarint(body, -1)
				continue
			}
			body = append(binary.AppendVarint(body, int64(len(f))), f...)
		}
		body = binary.AppendVarint(body, 0)
		records = append(binary.AppendVarint(records, int64(len(body))), body...)
	}
	records = compressed(b.Codec, records)
	if b.Payload != nil {
		records = b.Payload
	}
	out := make([]byte, atRecords, atRecords+len(records))
	binary.BigEndian.PutUint64(out, uint64(b.BaseOffset))
	out[atMagic] = 2
	binary.BigEndian.PutUint32(out[12:], 0xffffffff)
	binary.BigEndian.PutUint16(out[atAttributes:], uint16(b.Attributes)|uint16(b.Codec))
	binary.BigEndian.PutUint32(out[atLastDelta:], uint32(len(b.Records)-1))
	binary.BigEndian.PutUint64(out[atFirstTime:], uint64(b.At))
	binary.BigEndian.PutUint64(out[atMaxTime:], uint64(b.At+latest))
	binary.BigEndian.PutUint64(out[atProducer:], uint64(b.Producer))
	binary.BigEndian.PutUint16(out[atEpoch:], uint16(b.Epoch))
	binary.BigEndian.PutUint32(out[atSequence:], uint32(b.Sequence))
	binary.BigEndian.PutUint32(out[atCount:], uint32(len(b.Records)))
	out = append(out, records...)
	binary.BigEndian.PutUint32(out[atLength:], uint32(len(out)-12))
	if b.Spoil != nil {
		out = b.Spoil(out)
	}
	if len(out) > atAttributes {
		binary.BigEndian.PutUint32(out[atCRC:], crc32.Checksum(out[atAttributes:], castagnoli))
	}
	if b.SpoilSealed != nil {
		out = b.SpoilSealed(out)
	}
	return out
}

func compressed(codec int, records []byte) []byte {
	var out bytes.Buffer
	switch codec {
	case gzipped:
		w := gzip.NewWriter(&out)
		_, _ = w.Write(records)
		_ = w.Close()
	case snappied:
		// In the framing of the Java client.
		out.Write([]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1})
		block := snappy.Encode(nil, records)
		_ = binary.Write(&out, binary.BigEndian, uint32(len(block)))
		out.Write(block)
	case lz4ed:
		w := lz4.NewWriter(&out)
		_, _ = w.Write(records)
		_ = w.Close()
	case zstded:
		w, _ := zstd.NewWriter(nil)
		out.Write(w.EncodeAll(records, nil))
	default:
		return records
	}
	return out.Bytes()
}

// put16, put32 and put64 spoil a field.
func put16(at int, v uint16) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint16(b[at:], v); return b }
}
func put32(at int, v uint32) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], v); return b }
}
func put64(at int, v uint64) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint64(b[at:], v); return b }
}

// renderBatches writes down the header of every whole batch, and a checksum of its records as they came.
func renderBatches(raw []byte, path string, out map[string]string) {
	n := 0
	for len(raw) >= atRecords {
		length := int(binary.BigEndian.Uint32(raw[atLength:])) + 12
		if length < atRecords || length > len(raw) {
			break
		}
		b := raw[:length]
		raw = raw[length:]
		at := fmt.Sprintf("%s{%d}", path, n)
		n++
		out[at+".offset"] = fmt.Sprint(binary.BigEndian.Uint64(b))
		out[at+".leader-epoch"] = fmt.Sprint(int32(binary.BigEndian.Uint32(b[12:])))
		out[at+".magic"] = fmt.Sprint(b[atMagic])
		out[at+".crc"] = fmt.Sprint(binary.BigEndian.Uint32(b[atCRC:]) == crc32.Checksum(b[atAttributes:], castagnoli))
		out[at+".attributes"] = fmt.Sprintf("%#x", binary.BigEndian.Uint16(b[atAttributes:]))
		out[at+".last-delta"] = fmt.Sprint(int32(binary.BigEndian.Uint32(b[atLastDelta:])))
		out[at+".first-time"] = clock(binary.BigEndian.Uint64(b[atFirstTime:]))
		out[at+".max-time"] = clock(binary.BigEndian.Uint64(b[atMaxTime:]))
		out[at+".producer"] = fmt.Sprint(int64(binary.BigEndian.Uint64(b[atProducer:])))
		out[at+".epoch"] = fmt.Sprint(int16(binary.BigEndian.Uint16(b[atEpoch:])))
		out[at+".sequence"] = fmt.Sprint(int32(binary.BigEndian.Uint32(b[atSequence:])))
		out[at+".count"] = fmt.Sprint(int32(binary.BigEndian.Uint32(b[atCount:])))
		out[at+".records"] = fmt.Sprintf("%d bytes %08x", length-atRecords, crc32.ChecksumIEEE(b[atRecords:]))
	}
	out[path] = fmt.Sprintf("%d batches", n)
}
