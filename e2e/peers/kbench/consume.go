package main

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func endOffsets(ctx context.Context) (kadm.ListedOffsets, int64) {
	c := client(append(base(), kgo.MetadataMinAge(50*time.Millisecond))...)
	defer c.Close()
	a := kadm.NewClient(c)
	for try := 0; ; try++ { // a topic just created: its leaders may not know it yet
		e, err := a.ListEndOffsets(ctx, *topic)
		var s kadm.ListedOffsets
		if err == nil {
			s, err = a.ListStartOffsets(ctx, *topic)
		}
		var t int64
		e.Each(func(o kadm.ListedOffset) {
			if o.Err != nil {
				err = o.Err
			}
			so, _ := s.Lookup(o.Topic, o.Partition)
			t += o.Offset - so.Offset
		})
		if err == nil {
			return e, t
		}
		if try > 100 {
			die(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func doConsume(ctx context.Context) {
	_, total := endOffsets(ctx)
	if *records > 0 {
		total = min(total, *records)
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	o := append(base(), kgo.ConsumeTopics(*topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxBytes(int32(*fetchMax)), kgo.FetchMaxPartitionBytes(int32(*partMax)))
	if *group != "" {
		o = append(o, kgo.ConsumerGroup(*group))
	}
	var got, bytes atomic.Int64
	var first atomic.Int64
	start := now()
	cpu0 := cpu()
	ctx2, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := 0; i < *clients; i++ {
		if *group == "" && i > 0 {
			break
		}
		cl := client(o...)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer cl.Close()
			for ctx2.Err() == nil {
				f := cl.PollFetches(ctx2)
				var k, b int64
				f.EachRecord(func(r *kgo.Record) { k++; b += int64(len(r.Value)) })
				if k > 0 {
					first.CompareAndSwap(0, now()-start)
				}
				bytes.Add(b)
				if got.Add(k) >= total {
					stop()
				}
			}
		}()
	}
	<-ctx2.Done()
	el := float64(now()-start) / 1e9
	c1 := cpu()
	stop()
	wg.Wait()
	emit(map[string]any{"records": got.Load(), "expected": total, "seconds": r3(el), "msgs_s": int64(float64(got.Load()) / el), "mb_s": r3(float64(bytes.Load()) / el / 1e6), "first_ms": r3(float64(first.Load()) / 1e6), "group": *group, "clients": *clients, "run_cpu_s": r3(c1 - cpu0)})
	if got.Load() < total {
		os.Exit(1)
	}
}
