package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// doFailover: one record per partition every 1/rate s, each its own produce (no shared fate between
// partitions), and per partition the longest time between two acknowledged records around the hook.
func doFailover(ctx context.Context) {
	c0 := client(base()...)
	ensure(ctx, c0)
	a := kadm.NewClient(c0)
	m, err := a.Metadata(ctx, *topic)
	die(err)
	lead := map[int32]int32{}
	for _, t := range m.Topics {
		for _, p := range t.Partitions {
			lead[p.Partition] = p.Leader
		}
	}
	np := len(lead)
	type st struct {
		sync.Mutex
		acks []int64
		errs int
	}
	sts := make([]*st, np)
	gap := time.Duration(1e9 / *rate)
	runCtx, stop := context.WithTimeout(ctx, *duration)
	defer stop()
	var wg sync.WaitGroup
	o := append(prodOpts(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.MaxBufferedRecords(1<<20))
	if *fast {
		o = append(o, kgo.MetadataMinAge(50*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	}
	if *patience > 0 {
		o = append(o, kgo.ProduceRequestTimeout(*patience/2), kgo.RequestTimeoutOverhead(*patience/2), kgo.DialTimeout(*patience))
	}
	if *trace {
		at := func() string { return time.Now().UTC().Format("15:04:05.000000 ") }
		o = append(o, kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelDebug, at)))
	}
	start := now()
	cl := client(o...)
	for p := 0; p < np; p++ {
		s := &st{}
		sts[p] = s
		wg.Add(1)
		go func() {
			defer wg.Done()
			tk := time.NewTicker(gap)
			defer tk.Stop()
			for runCtx.Err() == nil {
				cl.Produce(ctx, &kgo.Record{Value: []byte("failover-probe"), Partition: int32(p)}, func(_ *kgo.Record, err error) {
					s.Lock()
					if err != nil {
						s.errs++
					} else {
						s.acks = append(s.acks, now())
					}
					s.Unlock()
				})
				<-tk.C
			}
		}()
	}
	var hookAt int64
	var hookErr string
	var fresh map[int32]int64
	if *hook != "" {
		time.Sleep(*hookAfter)
		hookAt = now()
		hookErr = runHook()
		fresh = probe(runCtx, np)
	}
	wg.Wait()
	fc, cn := context.WithTimeout(ctx, 30*time.Second)
	ferr := cl.Flush(fc)
	cn()
	type row struct {
		Partition int     `json:"partition"`
		OldLeader int32   `json:"old_leader"`
		Gap       float64 `json:"max_gap_s"`
		After     float64 `json:"recovered_after_hook_s"`
		Fresh     float64 `json:"fresh_client_after_hook_s"`
		Acks      int     `json:"acks"`
		Errs      int     `json:"errors"`
	}
	var rows []row
	worst := map[int32]float64{}
	for p, s := range sts {
		s.Lock()
		var mg int64
		var mgEnd int64
		prev := start
		for _, t := range s.acks {
			if t >= hookAt && t-prev > mg && prev > start {
				mg, mgEnd = t-prev, t
			}
			prev = t
		}
		r := row{p, lead[int32(p)], r3(float64(mg) / 1e9), r3(float64(mgEnd-hookAt) / 1e9), since(hookAt, fresh[int32(p)]), len(s.acks), s.errs}
		if r.Gap > worst[r.OldLeader] {
			worst[r.OldLeader] = r.Gap
		}
		s.Unlock()
		rows = append(rows, r)
	}
	emit(map[string]any{"rows": rows, "worst_gap_s_by_old_leader": worst, "hook": *hook, "hook_err": hookErr, "flush_err": fmt.Sprint(ferr), "fast_metadata": *fast})
}

// since: seconds from the hook, or -1 where nothing came.
func since(hookAt, at int64) float64 {
	if at == 0 {
		return -1
	}
	return r3(float64(at-hookAt) / 1e9)
}

const (
	probeEvery = 50 * time.Millisecond
	// A probe that meets a broker that hangs is given up; the next ones ask the others.
	probePatience = 500 * time.Millisecond
)

// probe: when each partition first took a record of a client that knew nothing of the time before. Such clients
// come one after the other, each to the next broker. That is the servers' share of the outage: what a client that
// was connected waits longer, it waits for itself.
func probe(ctx context.Context, partitions int) map[int32]int64 {
	took := map[int32]int64{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	defer wg.Wait()
	tk := time.NewTicker(probeEvery)
	defer tk.Stop()
	seeds := strings.Split(*brokers, ",")
	for i := 0; ctx.Err() == nil; i++ {
		mu.Lock()
		var left []int32
		for p := int32(0); p < int32(partitions); p++ {
			if took[p] == 0 {
				left = append(left, p)
			}
		}
		mu.Unlock()
		if len(left) == 0 {
			break
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			cl := client(kgo.SeedBrokers(seeds[i%len(seeds)]), kgo.DisableIdempotentWrite(), kgo.DefaultProduceTopic(*topic),
				kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
			defer cl.Close()
			ctx, cn := context.WithTimeout(ctx, probePatience)
			defer cn()
			var asked sync.WaitGroup
			for _, p := range left {
				asked.Add(1)
				cl.Produce(ctx, &kgo.Record{Value: []byte("fresh"), Partition: p}, func(_ *kgo.Record, err error) {
					defer asked.Done()
					mu.Lock()
					defer mu.Unlock()
					if err == nil && took[p] == 0 {
						took[p] = now()
					}
				})
			}
			asked.Wait()
		}()
		<-tk.C
	}
	wg.Wait()
	return took
}

// runHook: what went wrong, or nothing.
func runHook() string {
	if out, err := exec.Command("sh", "-c", *hook).CombinedOutput(); err != nil {
		return err.Error() + " " + string(out)
	}
	return ""
}
