package main

import (
	"bufio"
	"fmt"
	"path"
	"sort"
	"strings"
)

// A Step is one request and what was seen of its answer.
type Step struct {
	Name string
	// How it ended: answered, closed, silent, or why the case could not go on.
	End string
	// What was answered: path of a field to its value.
	Fields map[string]string
}

// A Difference is one value that is not the same.
type Difference struct {
	// Case, step and field: "produce/codecs bad-gzip: Topics[t].Partitions[0].ErrorCode".
	Where           string
	Kafka, Millrace string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s\n    kafka    %s\n    millrace %s", d.Where, d.Kafka, d.Millrace)
}

// stoppedStep is the last step of a case that could not go on.
const stoppedStep = "stopped"

// absent is the value of a field that only the other side has.
const absent = "(absent)"

func compare(name string, kafka, millrace []Step) []Difference {
	var found []Difference
	differ := func(step, field, k, m string) {
		if k != m {
			found = append(found, Difference{name + " " + step + ": " + field, k, m})
		}
	}
	for i := range max(len(kafka), len(millrace)) {
		if i >= len(kafka) || i >= len(millrace) || kafka[i].Name != millrace[i].Name {
			at := func(steps []Step) string {
				if i < len(steps) {
					return steps[i].Name
				}
				return absent
			}
			differ("flow", "step", at(kafka), at(millrace))
			break
		}
		k, m := kafka[i], millrace[i]
		if k.Name == stoppedStep || m.Name == stoppedStep {
			// A case that cannot go on shows nothing, even where neither can.
			found = append(found, Difference{name + " flow: " + stoppedStep, k.End, m.End})
			break
		}
		if k.End != m.End {
			differ(k.Name, "end", k.End, m.End)
			continue
		}
		fields := map[string]bool{}
		for f := range k.Fields {
			fields[f] = true
		}
		for f := range m.Fields {
			fields[f] = true
		}
		for f := range fields {
			if within(f, k.Fields, m.Fields) {
				continue
			}
			value := func(of map[string]string) string {
				if v, ok := of[f]; ok {
					return v
				}
				return absent
			}
			differ(k.Name, f, value(k.Fields), value(m.Fields))
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Where < found[j].Where })
	return found
}

// within says whether field belongs to an element that one side's list has not: the list then says so for all of it.
func within(field string, kafka, millrace map[string]string) bool {
	_, k := kafka[field]
	_, m := millrace[field]
	if k && m {
		return false
	}
	for i, c := range field {
		if c == '[' || c == '{' {
			if list := field[:i]; kafka[list] != millrace[list] {
				return true
			}
		}
	}
	return false
}

// Known is a difference that is meant.
type Known struct {
	// Where, with * for any characters but slashes.
	pattern string
	reason  string
}

type KnownList []Known

// readKnown reads lines of a pattern, a tab and a reason; empty ones and those that begin with # say nothing.
func readKnown(lines *bufio.Scanner) (KnownList, error) {
	var list KnownList
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("no tab and reason in %q", line)
		}
		if _, err := path.Match(globbed(pattern), ""); err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		list = append(list, Known{pattern, reason})
	}
	return list, lines.Err()
}

// globbed lets * stand for anything and everything else for itself.
func globbed(pattern string) string {
	return strings.NewReplacer("[", `\[`, "]", `\]`, "/", "\x00").Replace(pattern)
}

func (k Known) matches(where string) bool {
	ok, _ := path.Match(globbed(k.pattern), strings.ReplaceAll(where, "/", "\x00"))
	return ok
}

// judge returns what differs without being listed, and what is listed for a case that ran without differing.
func (list KnownList) judge(found []Difference, ran []string) (unexplained []Difference, stale []Known) {
	used := make([]bool, len(list))
	for _, d := range found {
		explained := false
		for i, k := range list {
			if k.matches(d.Where) {
				used[i], explained = true, true
			}
		}
		if !explained {
			unexplained = append(unexplained, d)
		}
	}
	for i, k := range list {
		if !used[i] && k.concerns(ran) {
			stale = append(stale, k)
		}
	}
	return unexplained, stale
}

// concerns says whether a case that ran could have shown this difference.
func (k Known) concerns(ran []string) bool {
	name, _, _ := strings.Cut(k.pattern, " ")
	for _, r := range ran {
		if ok, _ := path.Match(globbed(name), strings.ReplaceAll(r, "/", "\x00")); ok {
			return true
		}
	}
	return false
}
