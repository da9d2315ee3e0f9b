package main

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

func doLatency(ctx context.Context) {
	setup(*purge)
	total := int64(*rate * duration.Seconds())
	per := total / int64(*queues)
	gap := 1e9 / *rate * float64(*queues)
	warm := int64(*warmup)
	var mu sync.Mutex
	var e2e, conf []int64
	var late atomic.Int64
	var wg sync.WaitGroup
	type cons struct {
		c *amqp.Connection
		d <-chan amqp.Delivery
	}
	cs := make([]cons, *queues)
	for i := range cs {
		c, ch := chanOn(i + 1) // with several URLs: read from another node than the publisher's
		die(ch.Qos(*prefetch, 0, false))
		d, err := ch.Consume(qn(i), "", false, false, false, false, nil)
		die(err)
		cs[i] = cons{c, d}
	}
	start := now() + 5e7
	lctx, cn := context.WithTimeout(ctx, *duration+20*time.Second)
	defer cn()
	for i := 0; i < *queues; i++ {
		wg.Add(2)
		go func() {
			defer wg.Done()
			var l []int64
			for k := int64(0); k < per; k++ {
				select {
				case <-lctx.Done():
					die(errors.New("messages missing"))
				case m := <-cs[i].d:
					ts := int64(binary.BigEndian.Uint64(m.Body))
					if ts-start >= warm {
						l = append(l, now()-ts)
					}
					die(m.Ack(false))
				}
			}
			mu.Lock()
			e2e = append(e2e, l...)
			mu.Unlock()
			cs[i].c.Close()
		}()
		go func() {
			defer wg.Done()
			c, ch := chanOn(i)
			defer c.Close()
			die(ch.Confirm(false))
			nf := ch.NotifyPublish(make(chan amqp.Confirmation, 1<<14))
			done := make(chan struct{})
			var l []int64
			go func() {
				defer close(done)
				for k := int64(0); k < per; k++ {
					if _, ok := <-nf; !ok {
						die(errors.New("publish channel closed"))
					}
					sched := start + int64(float64(k)*gap)
					if sched-start >= warm {
						l = append(l, now()-sched)
					}
				}
			}()
			pl := payloads(*size)
			for k := int64(0); k < per; k++ {
				sched := start + int64(float64(k)*gap)
				if d := sched - now(); d > 200000 {
					time.Sleep(time.Duration(d))
				}
				if now()-sched > 5e6 {
					late.Add(1)
				}
				b := make([]byte, max(*size, 8))
				copy(b, pl[int(k)&1023])
				binary.BigEndian.PutUint64(b, uint64(sched))
				die(ch.PublishWithContext(ctx, "", qn(i), false, false, msg(b)))
			}
			<-done
			mu.Lock()
			conf = append(conf, l...)
			mu.Unlock()
		}()
	}
	wg.Wait()
	emit(map[string]any{"type": *qtype, "queues": *queues, "rate": *rate, "records": per * int64(*queues), "size": *size, "prefetch": *prefetch, "persistent": !*transient, "sent_late_5ms": late.Load(), "e2e": pct(e2e), "confirm": pct(conf)})
	teardown()
}
