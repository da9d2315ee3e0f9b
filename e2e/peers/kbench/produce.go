package main

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

func doProduce(ctx context.Context) {
	pl := payloads(*size)
	if *records == 0 {
		*records = 1000000
	}
	c0 := client(base()...)
	ensure(ctx, c0)
	c0.Close()
	var errs atomic.Int64
	var mu sync.Mutex
	var lats []int64
	cls := make([]*kgo.Client, *clients)
	for i := range cls {
		cls[i] = client(prodOpts()...)
		die(cls[i].Ping(ctx))
	}
	start := now()
	cpu0 := cpu()
	var wg sync.WaitGroup
	per := *records / int64(*clients)
	for ci, cl := range cls {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var mine []int64
			var lmu sync.Mutex
			for i := int64(0); i < per; i++ {
				r := &kgo.Record{Value: pl[int(i)&(len(pl)-1)]}
				if *keyed {
					k := make([]byte, 8)
					binary.BigEndian.PutUint64(k, uint64(i)*uint64(ci+1))
					r.Key = k
				}
				if i&15 == 0 {
					t := now()
					cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
						if err != nil {
							errs.Add(1)
							return
						}
						d := now() - t
						lmu.Lock()
						mine = append(mine, d)
						lmu.Unlock()
					})
				} else {
					cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
						if err != nil {
							errs.Add(1)
						}
					})
				}
			}
			die(cl.Flush(ctx))
			mu.Lock()
			lats = append(lats, mine...)
			mu.Unlock()
		}()
	}
	wg.Wait()
	el := float64(now()-start) / 1e9
	tot := per * int64(*clients)
	emit(map[string]any{"records": tot, "size": *size, "clients": *clients, "acks": *acks, "compression": *comp, "profile": *profile, "errors": errs.Load(),
		"seconds": r3(el), "msgs_s": int64(float64(tot) / el), "mb_s": r3(float64(tot) * float64(*size) / el / 1e6), "ack": pct(lats), "run_cpu_s": r3(cpu() - cpu0)})
	for _, c := range cls {
		c.Close()
	}
}
