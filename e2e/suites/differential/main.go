// Command differential sends the same requests to Apache Kafka and to Millrace and compares what a client sees: every
// error code and every visible effect. Differences that are meant are listed, with a reason each, in the file of -known;
// it fails for any other, and for a listed one that no longer differs.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// cases by name; a name is what the list of known differences and -only go by.
var cases = map[string]func(*Probe){}

// casesAtOnce bounds how many cases run side by side: most of their time is spent in the brokers.
const casesAtOnce = 6

func main() {
	kafka := flag.String("kafka", "", "addresses of Apache Kafka, with commas")
	millrace := flag.String("millrace", "", "addresses of Millrace, with commas")
	knownFile := flag.String("known", "known", "list of known differences")
	only := flag.String("only", "", "pattern of the cases to run; without it all of them")
	flag.Parse()
	if err := run(strings.Split(*kafka, ","), strings.Split(*millrace, ","), *knownFile, *only); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

func run(kafka, millrace []string, knownFile, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(cases)), pattern.MatchString) {
		return fmt.Errorf("no case matches %q", only)
	}
	file, err := os.Open(knownFile)
	if err != nil {
		return err
	}
	defer file.Close()
	known, err := readKnown(bufio.NewScanner(file))
	if err != nil {
		return fmt.Errorf("%s: %w", knownFile, err)
	}
	targets, err := connect(kafka, millrace)
	if err != nil {
		return err
	}
	found, steps, ran := runCases(targets, pattern)
	unexplained, stale := known.judge(found, ran)
	for _, d := range unexplained {
		fmt.Println(d)
	}
	for _, k := range stale {
		fmt.Printf("listed in %s and no longer different: %s\n", knownFile, k.pattern)
	}
	fmt.Printf("%d cases, %d requests: %d differences known, %d unexplained, %d listed in vain\n",
		len(ran), steps, len(found)-len(unexplained), len(unexplained), len(stale))
	if len(unexplained)+len(stale) > 0 {
		return fmt.Errorf("not as Apache Kafka does it")
	}
	return nil
}

// runCases runs the cases whose names match on both targets; says what differed, how many requests each target got,
// and which cases ran.
func runCases(targets [2]*Target, pattern *regexp.Regexp) ([]Difference, int, []string) {
	var (
		mutex sync.Mutex
		found []Difference
		steps int
		ran   []string
		wait  sync.WaitGroup
	)
	slots := make(chan struct{}, casesAtOnce)
	prefix := fmt.Sprintf("d%d-", time.Now().Unix()%1_000_000)
	for name, body := range cases {
		if !pattern.MatchString(name) || strings.HasPrefix(name, threeBrokers) != (len(targets[0].brokers) == 3) {
			continue
		}
		ran = append(ran, name)
		wait.Add(1)
		go func() {
			defer wait.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			var seen [2][]Step
			var both sync.WaitGroup
			for i, target := range targets {
				both.Add(1)
				go func() {
					defer both.Done()
					probe := newProbe(target, name, prefix)
					defer probe.close()
					probe.run(body)
					seen[i] = probe.steps()
				}()
			}
			both.Wait()
			mutex.Lock()
			defer mutex.Unlock()
			found = append(found, compare(name, seen[0], seen[1])...)
			steps += len(seen[0])
		}()
	}
	wait.Wait()
	return found, steps, ran
}
