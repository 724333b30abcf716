package truth

import (
	"bytes"
	"os"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) {
	Child()
	if trace.IsEnabled() {
		os.Stderr.WriteString("skipped: somebody else is tracing this process\n")
		return
	}
	os.Exit(m.Run())
}

const (
	// goal is the part of the affected requests that is to be named right, of those
	// that the machine left alone by the kernel's own account. Of the others most:
	// there the machine is an injector too, of what no log knows.
	goal, most = 0.95, 0.5
	// tooFew requests say nothing, enough of those left alone are held to the goal.
	tooFew, enough = 10, 20
)

// TestTruth: each class, with few requests. The laws hold for every request on
// any machine. What is named first is asked of those alone that the machine did
// not hold up and that the monitor did not lose, counted.
func TestTruth(t *testing.T) {
	e := experiment{affected: 30, alone: enough, limit: 3 * time.Second, page: harness.NewPage("", "x", t.Output())}
	for _, c := range classes() {
		t.Run(c.name, func(t *testing.T) {
			got, err := e.class(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			got.judge(t)
		})
	}
}

func (t *tally) judge(to *testing.T) {
	to.Log(t)
	t.checkLaws(to)
	// On a busy machine the collector's workers keep a P for longer than it
	// stops the world, and sched.gc, which is its doing too, may come first.
	right, of := t.rightOrSched, t.affected
	if t.dropped != "" {
		of -= t.first[semconv.Unseen]
	}
	if v := harness.Wilson(t.aloneRight, t.alone); t.alone >= enough && t.dropped == "" && v.High < goal {
		to.Errorf("%s named right where the machine left them alone, want %v: %v", v, goal, t.first)
	}
	switch {
	case of < tooFew:
		to.Logf("not judged: only %d affected requests on this machine", of)
		return
	case t.held > t.affected:
		to.Logf("not judged: the machine held up more of the affected requests, %d, than it left alone, %d", t.held, t.affected)
		return
	}
	if v := harness.Wilson(right, of); v.High < most {
		to.Errorf("%s named right, want most: %v", v, t.first)
	}
}

func (t *tally) checkLaws(to *testing.T) {
	if t.requests == 0 {
		to.Error("no requests")
	}
	if t.broken > 0 {
		to.Errorf("the parts of %d windows do not sum to their durations", t.broken)
	}
	if t.class.off() && t.blamed > 0 {
		to.Errorf("%d requests blamed on a collector that was off", t.blamed)
	}
	if t.class.http && t.affected >= tooFew && t.before == 0 {
		to.Error("no pause between arrival and handler was charged")
	}
	if t.unmatched > (t.affected+t.held)/10+1 {
		to.Errorf("%d requests have no window of their own", t.unmatched)
	}
	if t.class.name == "suspension" && t.callers != nil {
		for name := range t.callers {
			if strings.HasPrefix(name, "runtime.ReadMemStats < ") && strings.HasSuffix(name, ".readMemStats") {
				return
			}
		}
		to.Errorf("who called runtime.ReadMemStats is not reported: %v", t.callers)
	}
}

// TestSums: every request's time has owners that sum to it.
func TestSums(t *testing.T) {
	e := experiment{sums: 50_000, page: harness.NewPage("", "x", t.Output())}
	s, err := e.addUp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.requests != e.sums || s.broken > 0 {
		t.Errorf("%d windows, of which %d do not sum, want %d and none", s.requests, s.broken, e.sums)
	}
	if s.dropped != "" || s.held > s.took/4 {
		t.Logf("not judged: the monitor dropped %q, the machine kept threads waiting for %v of %v", s.dropped, s.held, s.took)
		return
	}
	if s.unseen() >= 0.05 {
		t.Errorf("%.1f %% unseen, want less than 5 %%", 100*s.unseen())
	}
	if s.total.Charged[stall.GCPause] == 0 || s.total.Charged[stall.GCAssist] == 0 {
		t.Errorf("pause %v and assist %v, want both above zero", s.total.Charged[stall.GCPause], s.total.Charged[stall.GCAssist])
	}
}

// TestRun: the page has its parts. Figures are not tested.
func TestRun(t *testing.T) {
	var out, log bytes.Buffer
	args := strings.Fields("-affected 1 -limit 500ms -only compute,suspension -sums 1000")
	if err := Experiment().Run(t.Context(), args, &out, &log); err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	for _, want := range []string{"## Truth by injection", "| compute | requests that", "| suspension |", "\nSums: 1000 requests", "\n| unseen |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// TestFirst: the longest part is named, and time that nobody saw only if it is
// longer than all of them.
func TestFirst(t *testing.T) {
	var s stall.Share
	s.Total, s.Unseen, s.App = 10, 4, 3
	if got := first(&s); got != semconv.Unseen {
		t.Errorf("got %s, want unseen", got)
	}
	s.Charged[stall.GCSweep] = 5
	if got := first(&s); got.String() != "gc.sweep" {
		t.Errorf("got %s, want gc.sweep", got)
	}
	if got := leftOver(&s); got != -2 {
		t.Errorf("left over %d, want -2", got)
	}
}
