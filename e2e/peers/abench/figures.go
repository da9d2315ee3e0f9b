package main

import (
	"encoding/json"
	"os"
	"sort"
	"strings"
	"syscall"
	"time"
)

func now() int64 { return int64(time.Since(t0)) }

func cpu() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

func emit(m map[string]any) {
	b, _ := os.ReadFile("/proc/loadavg")
	m["tool"], m["mode"], m["client_cpu_s"], m["load1"] = "abench", os.Args[1], r3(cpu()), strings.Fields(string(b) + " ")[0]
	die(json.NewEncoder(os.Stdout).Encode(m))
}

func r3(f float64) float64 { return float64(int64(f*1000+0.5)) / 1000 }

func pct(ns []int64) map[string]any {
	if len(ns) == 0 {
		return nil
	}
	sort.Slice(ns, func(i, j int) bool { return ns[i] < ns[j] })
	at := func(p float64) float64 { return r3(float64(ns[min(int(p*float64(len(ns))), len(ns)-1)]) / 1e6) }
	var s int64
	for _, v := range ns {
		s += v
	}
	return map[string]any{"n": len(ns), "mean_ms": r3(float64(s) / float64(len(ns)) / 1e6), "p50_ms": at(.5), "p90_ms": at(.9), "p99_ms": at(.99), "p999_ms": at(.999), "max_ms": at(1)}
}
