package causes

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// enough is how many gaps of known truth a share is taken of.
const enough = 20

// TestCauses injects every case for a moment. The machine may be busy with other
// things, which then are true causes too: so the bounds are wide, and nothing is
// asked of a case that has few gaps of known truth. The figures of a quiet
// machine are the command's.
func TestCauses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: cgroups, perf_event_open on a CPU, tracefs")
	}
	e := experiment{span: 700 * time.Millisecond, page: harness.NewPage("", "x", t.Output())}
	all, err := e.run(t.Context(), full)
	if err == nil {
		var more []*tally
		e.span = 300 * time.Millisecond
		more, err = e.run(t.Context(), fewer())
		all = append(all, more...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(cases) {
		t.Fatalf("got %d cases, want %d", len(all), len(cases))
	}
	if len(all[0].limits) > 0 {
		t.Skipf("not all causes can be decided here: %s", strings.Join(all[0].limits, "; "))
	}
	truth, right, wrong, gaps, unknowns := 0, 0, 0, 0, 0
	fewer, mistaken := 0, 0 // of known truth, and wrong, with fewer rights
	for _, x := range all {
		// Where the probe is one of the runtime's threads it may wait for a P now
		// and then, and rightly says so.
		if x.never > 0 && (x.c.mode != "runtime" || 10*x.never > x.gaps) {
			t.Errorf("%s: %d gaps are called what cannot be: %v", x.c.name, x.never, x.causes)
		}
		if x.c.rights != allRights {
			fewer, mistaken = fewer+x.truth, mistaken+x.wrong()
			continue
		}
		gaps, unknowns = gaps+x.gaps, unknowns+x.causes[unknown]
		truth, right, wrong = truth+x.truth, right+x.right(), wrong+x.wrong()
		if x.truth >= enough && 2*x.right() < x.truth {
			t.Errorf("%s: %d of %d gaps are decided rightly, want half: %v", x.c.name, x.right(), x.truth, x.called)
		}
	}
	// A drain that gets no CPU for a second loses records, and then nothing is
	// decided, as it should be: so of all cases together.
	if 2*unknowns > gaps {
		t.Errorf("%d of %d gaps are unknown", unknowns, gaps)
	}
	t.Logf("%d gaps of known truth: %d right, %d wrong", truth, right, wrong)
	if fewer >= 5*enough && 10*mistaken > fewer {
		t.Errorf("with fewer rights %d of %d gaps of known truth are wrong, want 10 %% at most", mistaken, fewer)
	}
	if truth >= 5*enough && (10*wrong > 2*truth || 10*right < 7*truth) {
		t.Errorf("%d gaps of known truth: %d right, want 70 %%; %d wrong, want 20 %% at most", truth, right, wrong)
	}
}

func TestOwns(t *testing.T) {
	span := func(from, to stall.Instant) stall.Span { return stall.Span{Start: from, End: to} }
	covered := testCase{from: 10, below: 1000, cover: 70}
	single := testCase{from: 10, below: 1000}
	gaps := []seenGap{{Span: span(100, 200)}, {Span: span(300, 400)}, {Span: span(410, 420)}}
	for _, test := range []struct {
		name  string
		c     testCase
		gap   stall.Span
		truth []stall.Span
		want  bool
	}{
		{"covered", covered, span(100, 200), []stall.Span{span(50, 180)}, true},
		{"by two", covered, span(100, 200), []stall.Span{span(50, 140), span(150, 190)}, true},
		{"too little", covered, span(100, 200), []stall.Span{span(50, 160)}, false},
		{"too short", covered, span(100, 105), []stall.Span{span(50, 160)}, false},
		{"too long", covered, span(100, 2000), []stall.Span{span(50, 2000)}, false},
		{"the only gap", single, span(100, 200), []stall.Span{span(150, 151)}, true},
		{"one of two", single, span(300, 400), []stall.Span{span(390, 415)}, false},
		{"another", single, span(300, 400), []stall.Span{span(150, 151)}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.c.owns(test.gap, test.truth, gaps); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestMayBe(t *testing.T) {
	truth := []stall.Span{{Start: 100, End: 110}, {Start: 200, End: 210}}
	for _, test := range []struct {
		gap  stall.Span
		want bool
	}{
		{stall.Span{Start: 10, End: 20}, true}, {stall.Span{Start: 90, End: 120}, true}, {stall.Span{Start: 120, End: 190}, false},
		{stall.Span{Start: 190, End: 201}, true}, {stall.Span{Start: 205, End: 300}, true}, {stall.Span{Start: 220, End: 300}, true},
	} {
		if got := mayBe(truth, test.gap); got != test.want {
			t.Errorf("gap %+v: got %v, want %v", test.gap, got, test.want)
		}
	}
}

func TestTally(t *testing.T) {
	c := &testCase{want: "host.irq", evidence: "timer", vague: "host.irq_or_steal", from: 1, below: 1000, cover: 70, never: []string{"runtime.unknown"}}
	x := newTally(c, seen{Gaps: []seenGap{
		{Span: stall.Span{Start: 0, End: 10}, Cause: "host.irq", Evidence: "1 interrupt, most of it local_timer"},
		{Span: stall.Span{Start: 12, End: 15}, Cause: "host.irq", Evidence: "1 interrupt, most of it reschedule"},
		{Span: stall.Span{Start: 20, End: 30}, Cause: "host.irq_or_steal"},
		{Span: stall.Span{Start: 40, End: 50}, Cause: "host.steal"},
		{Span: stall.Span{Start: 60, End: 70}, Cause: "host.unknown"},
		{Span: stall.Span{Start: 80, End: 90}, Cause: "host.preempted"},
		{Span: stall.Span{Start: 200, End: 210}, Cause: "runtime.unknown"},
	}}, injection{truth: []stall.Span{{Start: 0, End: 100}}, switched: []stall.Instant{11, 19, 85}})
	got := []int{x.gaps, x.truth, x.right(), x.undecided(), x.wrong(), x.never}
	if d := cmp.Diff([]int{7, 5, 1, 2, 2, 1}, got); d != "" {
		t.Errorf("gaps, truth, right, undecided, wrong, impossible (-want +got):\n%s", d)
	}
}

func TestForCollections(t *testing.T) {
	h := &held{
		stops: []stall.Span{{Start: 100, End: 200}, {Start: 300, End: 400}},
		let:   []stall.Instant{140, 230, 510},
		spans: []stall.Span{{Start: 90, End: 150}, {Start: 110, End: 250}, {Start: 200, End: 210}, {Start: 300, End: 500}, {Start: 600, End: 700}},
	}
	want := []stall.Span{{Start: 110, End: 140}, {Start: 300, End: 500}}
	if d := cmp.Diff(want, h.forCollections()); d != "" {
		t.Errorf("began in a stop (-want +got):\n%s", d)
	}
}

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
	err := Experiment().Run(t.Context(), []string{"-only", "SIGSTOP, mode runtime", "-span", "1ms"}, &out, io.Discard)
	if !errors.Is(err, harness.ErrUnmet) {
		t.Errorf("error %v, want %v", err, harness.ErrUnmet)
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
		s := harness.NewPage("Causes", "x", io.Discard)
		writeQuiet(s, []*tally{{c: &cases[0], observed: 10 * time.Second, causes: map[string]int{"host.preempted": test.preempted}}})
		if got := strings.Contains(s.String(), "The machine was busy"); got != test.want {
			t.Errorf("preempted %d times in 10 s: says so %v, want %v", test.preempted, got, test.want)
		}
	}
}
