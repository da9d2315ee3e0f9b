package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// doFanout: one producer at a fixed rate, and -groups consumer groups of one member each that read along.
func doFanout(ctx context.Context) {
	c0 := client(base()...)
	ensure(ctx, c0)
	c0.Close()
	total := int64(*rate * duration.Seconds())
	consumers, consuming := context.WithTimeout(ctx, *timeout)
	defer consuming()
	var delivered atomic.Int64
	var wg, joined sync.WaitGroup
	for g := 0; g < *groups; g++ {
		cl := client(append(base(), kgo.ConsumeTopics(*topic), kgo.ConsumerGroup(fmt.Sprintf("%s-%d-%d", *topic, g, now())), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
		wg.Add(1)
		joined.Add(1)
		go func() {
			defer wg.Done()
			defer cl.Close()
			var once sync.Once
			for got := int64(0); got < total+1 && consumers.Err() == nil; {
				f := cl.PollFetches(consumers)
				var k, b int64
				f.EachRecord(func(r *kgo.Record) { k++; b += int64(len(r.Value)) })
				if k > 0 {
					once.Do(joined.Done)
				}
				got += k
				delivered.Add(b)
			}
		}()
	}
	prod := client(prodOpts()...)
	pl := payloads(*size)
	// One record that every group has to see: from then on all of them read along.
	die(prod.ProduceSync(ctx, &kgo.Record{Value: pl[0]}).FirstErr())
	joined.Wait()
	start := now()
	for i := int64(0); i < total; i++ {
		if d := start + int64(float64(i)*1e9 / *rate) - now(); d > 200000 {
			time.Sleep(time.Duration(d))
		}
		prod.Produce(ctx, &kgo.Record{Value: pl[int(i)&(len(pl)-1)]}, nil)
	}
	die(prod.Flush(ctx))
	wg.Wait()
	el := float64(now()-start) / 1e9
	complete := delivered.Load() == (total+1)*int64(*size)*int64(*groups)
	emit(map[string]any{"groups": *groups, "records": total, "seconds": r3(el), "delivered_gb": r3(float64(delivered.Load()) / 1e9), "complete": complete, "mb_s": r3(float64(delivered.Load()) / el / 1e6)})
	prod.Close()
}
