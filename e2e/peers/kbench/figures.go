package main

import (
	"encoding/json"
	"os"
	"sort"
	"strings"
	"syscall"
	"time"
)

func now() int64 { return int64(time.Since(seedBase)) }

func cpu() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

func load() string {
	b, _ := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(b))
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

func emit(m map[string]any) {
	m["tool"], m["mode"] = "kbench", os.Args[1]
	m["client_cpu_s"] = r3(cpu())
	m["load1"] = load()
	e := json.NewEncoder(os.Stdout)
	die(e.Encode(m))
}

func r3(f float64) float64 { return float64(int64(f*1000+0.5)) / 1000 }

func pct(ns []int64) map[string]any {
	if len(ns) == 0 {
		return nil
	}
	sort.Slice(ns, func(i, j int) bool { return ns[i] < ns[j] })
	at := func(p float64) float64 {
		i := int(p * float64(len(ns)))
		if i >= len(ns) {
			i = len(ns) - 1
		}
		return r3(float64(ns[i]) / 1e6)
	}
	var s int64
	for _, v := range ns {
		s += v
	}
	return map[string]any{"n": len(ns), "mean_ms": r3(float64(s) / float64(len(ns)) / 1e6), "p50_ms": at(.5), "p90_ms": at(.9), "p99_ms": at(.99), "p999_ms": at(.999), "max_ms": at(1)}
}
