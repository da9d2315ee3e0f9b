package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// publish sends n messages to queue i. Confirms arrive in order (the library re-sequences them), so a
// counter and a ring of send times are enough.
func publish(ctx context.Context, i int, n int64) (lat []int64, nacks int64) {
	c, ch := chanOn(i)
	defer c.Close()
	die(ch.Confirm(false))
	conf := ch.NotifyPublish(make(chan amqp.Confirmation, *window+16))
	closed := ch.NotifyClose(make(chan *amqp.Error, 1))
	pl := payloads(*size)
	sem := make(chan struct{}, *window)
	ring := make([]int64, 1<<17)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for k := int64(0); k < n; k++ {
			cf, ok := <-conf
			if !ok {
				die(fmt.Errorf("channel closed: %v", <-closed))
			}
			if !cf.Ack {
				nacks++
			}
			if k&15 == 0 {
				lat = append(lat, now()-atomic.LoadInt64(&ring[k&(1<<17-1)]))
			}
			<-sem
		}
	}()
	name := qn(i)
	for k := int64(0); k < n; k++ {
		if *batchMode && k%int64(*window) == 0 {
			for len(sem) > 0 {
				time.Sleep(20 * time.Microsecond)
			}
		}
		sem <- struct{}{}
		atomic.StoreInt64(&ring[k&(1<<17-1)], now())
		die(ch.PublishWithContext(ctx, "", name, false, false, msg(pl[int(k)&1023])))
	}
	<-done
	return
}

func doPublish(ctx context.Context) {
	setup(*purge)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var lats []int64
	var nacks int64
	start, c0 := now(), cpu()
	per := *records / int64(*queues)
	for i := 0; i < *queues; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			l, nk := publish(ctx, i, per)
			mu.Lock()
			lats = append(lats, l...)
			nacks += nk
			mu.Unlock()
		}()
	}
	wg.Wait()
	el := float64(now()-start) / 1e9
	tot := per * int64(*queues)
	emit(map[string]any{"type": *qtype, "queues": *queues, "records": tot, "size": *size, "window": *window, "batch": *batchMode, "persistent": !*transient, "nacks": nacks, "seconds": r3(el), "msgs_s": int64(float64(tot) / el), "mb_s": r3(float64(tot) * float64(*size) / el / 1e6), "confirm": pct(lats), "run_cpu_s": r3(cpu() - c0)})
}

func consume(ctx context.Context, i int, want int64, got *atomic.Int64) {
	c, ch := chanOn(i)
	defer c.Close()
	die(ch.Qos(*prefetch, 0, false))
	d, err := ch.Consume(qn(i), "", false, false, false, false, nil)
	die(err)
	var k int64
	for k < want {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-d:
			if !ok {
				die(errors.New("consumer closed"))
			}
			k++
			got.Add(1)
			if *multiple <= 1 {
				die(m.Ack(false))
			} else if k%int64(*multiple) == 0 || k == want {
				die(m.Ack(true))
			}
		}
	}
	ch.Close()
}

func doConsume(ctx context.Context) {
	ctx, cn := context.WithTimeout(ctx, *timeout)
	defer cn()
	var got atomic.Int64
	var tot int64
	var wg sync.WaitGroup
	dep := make([]int64, *queues)
	for i := range dep {
		dep[i] = depth(i)
		tot += dep[i]
	}
	start, c0 := now(), cpu()
	for i := range dep {
		wg.Add(1)
		go func() { defer wg.Done(); consume(ctx, i, dep[i], &got) }()
	}
	wg.Wait()
	el := float64(now()-start) / 1e9
	emit(map[string]any{"type": *qtype, "queues": *queues, "records": got.Load(), "expected": tot, "prefetch": *prefetch, "multiple": *multiple, "seconds": r3(el), "msgs_s": int64(float64(got.Load()) / el), "run_cpu_s": r3(cpu() - c0)})
	teardown()
}

func doBoth(ctx context.Context) {
	setup(*purge)
	time.Sleep(300 * time.Millisecond)
	ctx, cn := context.WithTimeout(ctx, *timeout)
	defer cn()
	var got atomic.Int64
	var wg sync.WaitGroup
	per := *records / int64(*queues)
	start, c0 := now(), cpu()
	var pubEnd atomic.Int64
	for i := 0; i < *queues; i++ {
		wg.Add(2)
		go func() { defer wg.Done(); consume(ctx, i, per, &got) }()
		go func() { defer wg.Done(); publish(ctx, i, per); pubEnd.Store(now()) }()
	}
	wg.Wait()
	el := float64(now()-start) / 1e9
	emit(map[string]any{"type": *qtype, "queues": *queues, "records": got.Load(), "missing": per*int64(*queues) - got.Load(), "size": *size, "window": *window, "prefetch": *prefetch, "seconds": r3(el), "msgs_s": int64(float64(got.Load()) / el), "publish_s": r3(float64(pubEnd.Load()-start) / 1e9), "run_cpu_s": r3(cpu() - c0)})
	teardown()
}
