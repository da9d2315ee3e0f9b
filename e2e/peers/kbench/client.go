package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func base() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(strings.Split(*brokers, ",")...), kgo.ClientID("kbench")}
}

func prodOpts() []kgo.Opt {
	o := base()
	switch *acks {
	case "all", "-1":
		if !*idem {
			o = append(o, kgo.DisableIdempotentWrite())
		}
	case "1":
		o = append(o, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		o = append(o, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	}
	c := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression(), "snappy": kgo.SnappyCompression(), "gzip": kgo.GzipCompression(), "zstd": kgo.ZstdCompression()}
	codec, ok := c[*comp]
	if !ok {
		die(errors.New("unknown compression"))
	}
	o = append(o, kgo.ProducerBatchCompression(codec))
	l, b := *linger, *batch
	if *profile == "kafka4" {
		if l < 0 {
			l = 5 * time.Millisecond
		}
		if b == 0 {
			b = 16384
		}
		if *acks != "all" && *acks != "-1" || !*idem {
			o = append(o, kgo.MaxProduceRequestsInflightPerBroker(5))
		}
		o = append(o, kgo.MaxBufferedBytes(33554432), kgo.MaxBufferedRecords(1<<20))
	} else {
		o = append(o, kgo.MaxBufferedRecords(100000))
	}
	if l >= 0 {
		o = append(o, kgo.ProducerLinger(l))
	}
	if b > 0 {
		o = append(o, kgo.ProducerBatchMaxBytes(int32(b)))
	}
	if *keyed {
		o = append(o, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	} else {
		o = append(o, kgo.RecordPartitioner(kgo.UniformBytesPartitioner(max(b, 16384), true, false, nil)))
	}
	return append(o, kgo.DefaultProduceTopic(*topic))
}

// payloads: random upper-case letters, as kafka-producer-perf-test makes them, or log-like JSON.
func payloads(size int) [][]byte {
	k := 4096
	if size > 4096 {
		k = 256
	}
	r := rand.New(rand.NewSource(1))
	p := make([][]byte, k)
	for i := range p {
		if *payload == "json" {
			for len(p[i]) < size {
				p[i] = fmt.Appendf(p[i], `{"ts":%d,"level":"info","service":"checkout-%d","trace":"%016x","user":%d,"msg":"request served","status":200,"latency_ms":%d}`, 1700000000000+r.Intn(1e9), r.Intn(20), r.Uint64(), r.Intn(1e6), r.Intn(900))
			}
			p[i] = p[i][:size]
			continue
		}
		p[i] = make([]byte, size)
		for j := range p[i] {
			p[i][j] = byte('A' + r.Intn(26))
		}
	}
	return p
}

func ensure(ctx context.Context, cl *kgo.Client) {
	if !*create {
		return
	}
	a := kadm.NewClient(cl)
	cfg := map[string]*string{}
	for _, kv := range strings.Split(*topicCfg, ",") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			cfg[k] = &v
		}
	}
	_, err := a.CreateTopic(ctx, int32(*partitions), int16(*rf), cfg, *topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		die(err)
	}
	waitLeaders(ctx, cl, *topic)
}

// rawMeta asks a broker anew; kadm and kgo answer repeated metadata questions from a cache.
func rawMeta(ctx context.Context, cl *kgo.Client, topics ...string) (*kmsg.MetadataResponse, error) {
	r := kmsg.NewPtrMetadataRequest()
	r.Topics = []kmsg.MetadataRequestTopic{}
	for _, t := range topics {
		x := kmsg.NewMetadataRequestTopic()
		x.Topic = kmsg.StringPtr(t)
		r.Topics = append(r.Topics, x)
	}
	ctx, cn := context.WithTimeout(ctx, 5*time.Second)
	defer cn()
	return r.RequestWith(ctx, cl)
}

func waitLeaders(ctx context.Context, cl *kgo.Client, topics ...string) {
	for ctx.Err() == nil {
		m, err := rawMeta(ctx, cl, topics...)
		ok := err == nil && len(m.Topics) >= len(topics)
		if ok {
			for _, t := range m.Topics {
				ok = ok && t.ErrorCode == 0 && len(t.Partitions) > 0
				for _, p := range t.Partitions {
					ok = ok && p.ErrorCode == 0 && p.Leader >= 0
				}
			}
		}
		if ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	die(ctx.Err())
}

func client(o ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(o...)
	die(err)
	return cl
}

func fsSet(name string) (set bool) {
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return
}
