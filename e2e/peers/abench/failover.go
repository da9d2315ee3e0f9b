package main

import (
	"context"
	"encoding/binary"
	"os/exec"
	"sync"
	"time"
)

// doFailover: per queue, one confirmed publish after another (each as soon as the last is confirmed, at
// most -rate per s) and one consumer; both reconnect to the next URL. Reports the longest silence after the hook.
func doFailover(ctx context.Context) {
	setup(true)
	rctx, cn := context.WithTimeout(ctx, *duration)
	defer cn()
	type st struct {
		sync.Mutex
		conf, del        []int64
		pubErr, reconn   int
		sent, uniqueRecv map[uint64]bool
	}
	sts := make([]*st, *queues)
	var wg sync.WaitGroup
	for i := range sts {
		s := &st{sent: map[uint64]bool{}, uniqueRecv: map[uint64]bool{}}
		sts[i] = s
		wg.Add(2)
		go func() { // publisher
			defer wg.Done()
			var seq uint64
			for k := 0; rctx.Err() == nil; k++ {
				func() {
					c, err := dial(i + k)
					if err != nil {
						return
					}
					defer c.Close()
					ch, err := c.Channel()
					if err != nil || ch.Confirm(false) != nil {
						return
					}
					for rctx.Err() == nil {
						t := now()
						b := make([]byte, 64)
						seq++
						binary.BigEndian.PutUint64(b, seq)
						d, err := ch.PublishWithDeferredConfirmWithContext(rctx, "", qn(i), false, false, msg(b))
						if err != nil {
							break
						}
						if ok, err := d.WaitContext(rctx); err != nil || !ok {
							break
						}
						s.Lock()
						s.conf = append(s.conf, now())
						s.sent[seq] = true
						s.Unlock()
						if w := int64(1e9 / *rate) - (now() - t); w > 0 {
							time.Sleep(time.Duration(w))
						}
					}
				}()
				s.Lock()
				s.pubErr++
				s.Unlock()
				time.Sleep(10 * time.Millisecond)
			}
		}()
		go func() { // consumer, 3 s longer than the publisher
			defer wg.Done()
			end := time.Now().Add(*duration + 3*time.Second)
			for k := 0; time.Now().Before(end); k++ {
				func() {
					c, err := dial(i + 1 + k)
					if err != nil {
						return
					}
					defer c.Close()
					ch, err := c.Channel()
					if err != nil || ch.Qos(*prefetch, 0, false) != nil {
						return
					}
					d, err := ch.Consume(qn(i), "", false, false, false, false, nil)
					if err != nil {
						return
					}
					for {
						select {
						case m, ok := <-d:
							if !ok {
								return
							}
							s.Lock()
							s.del = append(s.del, now())
							s.uniqueRecv[binary.BigEndian.Uint64(m.Body)] = true
							s.Unlock()
							if m.Ack(false) != nil {
								return
							}
						case <-time.After(time.Until(end)):
							return
						}
					}
				}()
				s.Lock()
				s.reconn++
				s.Unlock()
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}
	time.Sleep(*hookAfter)
	hookAt := now()
	var herr string
	if *hook != "" {
		if o, err := exec.Command("sh", "-c", *hook).CombinedOutput(); err != nil {
			herr = err.Error() + string(o)
		}
	}
	wg.Wait()
	gap := func(ts []int64) float64 {
		var g, prev int64
		for _, t := range ts {
			if prev > 0 && t >= hookAt {
				g = max(g, t-prev)
			}
			prev = t
		}
		if prev < hookAt+int64(time.Second) { // never came back
			return -1
		}
		return r3(float64(g) / 1e9)
	}
	var rows []map[string]any
	for i, s := range sts {
		lost := 0
		for k := range s.sent {
			if !s.uniqueRecv[k] {
				lost++
			}
		}
		rows = append(rows, map[string]any{"queue": qn(i), "confirm_gap_s": gap(s.conf), "delivery_gap_s": gap(s.del), "confirmed": len(s.conf), "delivered": len(s.del), "confirmed_but_not_delivered": lost, "publisher_reconnects": s.pubErr - 1, "consumer_reconnects": s.reconn - 1})
	}
	emit(map[string]any{"type": *qtype, "rows": rows, "hook": *hook, "hook_err": herr})
}
