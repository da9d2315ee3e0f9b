package main

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func doLatency(ctx context.Context) {
	c0 := client(base()...)
	ensure(ctx, c0)
	c0.Close()
	ends, _ := endOffsets(ctx)
	asg := map[string]map[int32]kgo.Offset{*topic: {}}
	ends.Each(func(o kadm.ListedOffset) { asg[*topic][o.Partition] = kgo.NewOffset().At(o.Offset) })
	cons := client(append(base(), kgo.ConsumePartitions(asg))...)
	prod := client(prodOpts()...)
	die(prod.Ping(ctx))
	die(cons.Ping(ctx))
	total := int64(*rate * duration.Seconds())
	warm := int64(*warmup)
	var e2e, ack []int64
	var mu sync.Mutex
	var errs, late atomic.Int64
	done := make(chan struct{})
	start := now()
	cctx, stop := context.WithTimeout(ctx, *duration+20*time.Second)
	go func() {
		defer close(done)
		var k int64
		for k < total && cctx.Err() == nil {
			f := cons.PollFetches(cctx)
			t := now()
			f.EachRecord(func(r *kgo.Record) {
				k++
				ts := int64(binary.BigEndian.Uint64(r.Value))
				if ts-start >= warm {
					e2e = append(e2e, t-ts)
				}
			})
		}
	}()
	pl := payloads(*size)
	gap := 1e9 / *rate
	for i := int64(0); i < total; i++ {
		sched := start + int64(float64(i)*gap) // the time it should have been sent: no coordinated omission
		if d := sched - now(); d > 200000 {
			time.Sleep(time.Duration(d))
		}
		if now()-sched > 5e6 {
			late.Add(1)
		}
		v := make([]byte, max(*size, 8))
		copy(v, pl[int(i)&(len(pl)-1)])
		binary.BigEndian.PutUint64(v, uint64(sched))
		prod.Produce(ctx, &kgo.Record{Value: v}, func(_ *kgo.Record, err error) {
			if err != nil {
				errs.Add(1)
				return
			}
			if sched-start >= warm {
				d := now() - sched
				mu.Lock()
				ack = append(ack, d)
				mu.Unlock()
			}
		})
	}
	die(prod.Flush(ctx))
	<-done
	stop()
	emit(map[string]any{"rate": *rate, "records": total, "size": *size, "acks": *acks, "profile": *profile, "compression": *comp, "errors": errs.Load(), "sent_late_5ms": late.Load(), "e2e": pct(e2e), "ack": pct(ack)})
	cons.Close()
	prod.Close()
}
