package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// doLed: runs the hook, then asks until every partition of the topic is led by a broker other than -not,
// and until every leader answers for its log.
func doLed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	cl := client(append(base(), kgo.MetadataMinAge(50*time.Millisecond), kgo.DialTimeout(time.Second), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))...)
	a := kadm.NewClient(cl)
	die(cl.Ping(ctx))
	hookErr := ""
	start := now()
	if *hook != "" {
		if out, err := exec.Command("sh", "-c", *hook).CombinedOutput(); err != nil {
			hookErr = err.Error() + " " + string(out)
		}
	}
	total := 0
	for {
		m, err := rawMeta(ctx, cl, *topic)
		if err == nil && len(m.Topics) == 1 && m.Topics[0].ErrorCode == 0 {
			total = len(m.Topics[0].Partitions)
			left := 0
			for _, p := range m.Topics[0].Partitions {
				if p.Leader < 0 || p.Leader == int32(*not) {
					left++
				}
			}
			if total > 0 && left == 0 {
				break
			}
		}
		if ctx.Err() != nil {
			die(fmt.Errorf("not every partition has another leader: %v", err))
		}
		time.Sleep(5 * time.Millisecond)
	}
	led := now()
	waitServed(ctx, a, *topic)
	emit(map[string]any{"partitions": total, "led_s": r3(float64(led-start) / 1e9), "usable_s": r3(float64(now()-start) / 1e9), "hook_err": hookErr})
}
