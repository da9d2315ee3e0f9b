package main

import (
	"bufio"
	"strings"
	"testing"
)

func step(name, end string, fields ...string) Step {
	s := Step{Name: name, End: end, Fields: map[string]string{}}
	for i := 0; i < len(fields); i += 2 {
		s.Fields[fields[i]] = fields[i+1]
	}
	return s
}

func wheres(found []Difference) string {
	var all []string
	for _, d := range found {
		all = append(all, d.Where)
	}
	return strings.Join(all, "; ")
}

func TestEveryKindOfDifferenceIsFound(t *testing.T) {
	for _, c := range []struct {
		name            string
		kafka, millrace []Step
		want            string
	}{
		{"nothing", []Step{step("a", "answered", "E", "0")}, []Step{step("a", "answered", "E", "0")}, ""},
		{"a value", []Step{step("a", "answered", "E", "0")}, []Step{step("a", "answered", "E", "1")}, "c a: E"},
		{"a field more", []Step{step("a", "answered")}, []Step{step("a", "answered", "E", "1")}, "c a: E"},
		{"an element more", []Step{step("a", "answered", "T", "[x]", "T[x].E", "0")}, []Step{step("a", "answered", "T", "[]")}, "c a: T"},
		{"the end", []Step{step("a", "closed")}, []Step{step("a", "answered", "E", "1")}, "c a: end"},
		{"neither can go on", []Step{step("stopped", "why")}, []Step{step("stopped", "why")}, "c flow: stopped"},
		{"a step less", []Step{step("a", "closed"), step("b", "closed")}, []Step{step("a", "closed")}, "c flow: step"},
	} {
		if got := wheres(compare("c", c.kafka, c.millrace)); got != c.want {
			t.Errorf("%s: found %q, not %q", c.name, got, c.want)
		}
	}
}

func TestOnlyListedDifferencesAreExplainedAndOnlyThoseThatDifferAreListed(t *testing.T) {
	list, err := readKnown(bufio.NewScanner(strings.NewReader("# why\nx/a v*: T[*].E\tmeant\nx/b s: E\told\ny/* s: E\tnot run\n")))
	if err != nil {
		t.Fatal(err)
	}
	found := []Difference{{Where: "x/a v3: T[q].E"}, {Where: "x/a v3: T[q].F"}}
	unexplained, stale := list.judge(found, []string{"x/a", "x/b"})
	if got := wheres(unexplained); got != "x/a v3: T[q].F" {
		t.Errorf("unexplained: %q", got)
	}
	if len(stale) != 1 || stale[0].pattern != "x/b s: E" {
		t.Errorf("stale: %v", stale)
	}
}

func TestAKnownDifferenceNeedsAReason(t *testing.T) {
	if _, err := readKnown(bufio.NewScanner(strings.NewReader("x s: E\n"))); err == nil {
		t.Error("taken without a reason")
	}
}
