package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/accuracy/report"
)

func TestVerdicts(t *testing.T) {
	c := &testCase{name: "x", want: "right", never: []string{"runtime.unknown"}}
	of := func(truth, right, undecided, never int) *tally {
		return &tally{c: c, gaps: 1000, truth: truth, never: never, called: map[string]int{"right": right, unknown: undecided, "else": truth - right - undecided}}
	}
	less := func(truth, right, undecided, never int) *tally {
		t, c := of(truth, right, undecided, never), *c
		c.rights = nobody
		t.c = &c
		return t
	}
	for _, test := range []struct {
		name string
		all  []*tally
		want []bool // by bound: impossible, right, wrong
	}{
		{"all right", []*tally{of(100, 100, 0, 0)}, []bool{true, true, true}},
		{"just", []*tally{of(100, 90, 8, 0)}, []bool{true, true, true}},
		{"too few are right", []*tally{of(100, 89, 11, 0)}, []bool{true, false, true}},
		{"too many are wrong", []*tally{of(100, 97, 0, 0)}, []bool{true, true, false}},
		{"impossible", []*tally{of(100, 100, 0, 1)}, []bool{false, true, true}},
		{"few rights decide little", []*tally{less(100, 3, 95, 0)}, []bool{true, true}},
		{"and guess at nothing", []*tally{less(100, 3, 94, 0)}, []bool{true, false}},
		{"too few are known", []*tally{of(leastKnown-1, leastKnown-1, 0, 0)}, []bool{true, false}},
		{"no truth", []*tally{{c: &testCase{name: "nothing", never: stops}, gaps: 10}}, []bool{true}},
		{"no gap at all", []*tally{{c: &testCase{name: "nothing", never: stops}}}, []bool{false}},
		{"some may be", []*tally{{c: &testCase{never: stops, but: true}, gaps: 1000, never: 20}}, []bool{true}},
		{"so many may not", []*tally{{c: &testCase{never: stops, but: true}, gaps: 1000, never: 21}}, []bool{false}},
		{"left out", []*tally{{c: c, left: "no rights"}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []bool
			n := 0
			for _, v := range verdicts(test.all) {
				got = append(got, v.met)
				if !v.met {
					n++
				}
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("met (-want +got):\n%s\n%+v", d, verdicts(test.all))
			}
			if unmet(verdicts(test.all)) != n {
				t.Errorf("not met: got %d, want %d", unmet(verdicts(test.all)), n)
			}
		})
	}
}

// TestUnmetBoundsAreAnError: a run of a moment has too few gaps of any known
// truth. What it found is written all the same.
func TestUnmetBoundsAreAnError(t *testing.T) {
	var out strings.Builder
	err := program().Run(t.Context(), []string{"-only", "SIGSTOP, mode runtime", "-span", "1ms"}, &out, io.Discard)
	if !errors.Is(err, report.ErrUnmet) {
		t.Errorf("error %v, want %v", err, report.ErrUnmet)
	}
	if want := "gaps of known truth | 50 or more |"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in:\n%s", want, out.String())
	}
}

// TestBusyMachine: who reads the figures has to know that others were there.
func TestBusyMachine(t *testing.T) {
	for _, test := range []struct {
		preempted int
		want      bool
	}{{10*busyFrom - 1, false}, {10 * busyFrom, true}} {
		s := report.New("Causes")
		writeQuiet(s, []*tally{{c: &cases[0], observed: 10 * time.Second, causes: map[string]int{"host.preempted": test.preempted}}})
		if got := strings.Contains(s.String(), "The machine was busy"); got != test.want {
			t.Errorf("preempted %d times in 10 s: says so %v, want %v", test.preempted, got, test.want)
		}
	}
}
