package otelgc

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestRunningAndLeftAlone: of requests that only compute, what the machine took
// is the machine's and what it did not take is theirs, once somebody watches
// this process; before, nobody knows.
func TestRunningAndLeftAlone(t *testing.T) {
	path, w := newTestBoard(t)
	var got shares
	m := startTest(t, WithExactBudget(1), WithOnWindow(got.add), WithBoard(path))
	until(t, "the board to be read", m.machine.board.Open)
	s := serve(t, m, func() {
		for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
			garbage(10)
		}
	})
	waitMarking(t, m)
	sum := func() (all stall.Share) {
		w.Advance(m.here.clock.Now(), 0, 0)
		settle(t, m)
		got.mu.Lock()
		defer got.mu.Unlock()
		for _, r := range got.all {
			all.Add(&r.s)
		}
		got.all = nil
		return all
	}
	for range 40 {
		get(t, s)
	}
	before := sum()
	if before.AppOrHost == 0 {
		t.Skip("skipped: no request was followed by the trace")
	}

	covered := watchThis(t, m, w)
	until(t, "time that is covered", func() bool { return covered() > 100*time.Millisecond })
	// On a busy machine most of the time some thread waits, and nobody can say
	// whether it was this request's: so until some is sure.
	var after stall.Share
	until(t, "more than before that is surely the program's own", func() bool {
		waitMarking(t, m)
		for range 40 {
			get(t, s)
		}
		round := sum()
		after.Add(&round)
		return after.App > before.App
	})
	t.Logf("before: app %v, app_or_host %v of %v", before.App, before.AppOrHost, before.Total)
	t.Logf("after: app %v, app_or_host %v, preempted %v of %v", after.App, after.AppOrHost, after.Charged[stall.HostPreempted], after.Total)
	if float64(before.App) > 0.2*float64(before.Total) {
		t.Errorf("before anybody watched: app %v of %v", before.App, before.Total)
	}
}

// watchThis writes on the board what the machine does to this process, as the
// sidecar does, until the test ends. What it returns says how much time is
// covered.
func watchThis(t *testing.T, m *Monitor, w *board.Writer) (covered func() time.Duration) {
	t.Helper()
	here := m.here.place
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	watch, err := hostwatch.New(hostwatch.Options{PID: os.Getpid(), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	write := func(b *hostwatch.Observations) {
		records := append([]stall.Interval(nil), b.Denied...)
		for _, s := range append(b.Covered, stall.Span{Start: b.Span.End, End: b.Span.End}) {
			records = append(records, stall.Interval{
				Start: s.Start, End: s.End, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1,
				Owner: stall.Owner{PID: here.PID, Created: here.Created},
			})
		}
		for _, v := range records {
			if err := w.Append(v); err != nil {
				t.Error(err)
			}
		}
		w.Advance(b.Span.End, 0, 0)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			if _, err := watch.Next(context.Background()); err != nil {
				return // io.EOF
			}
			write(watch.Observations())
		}
	}()
	t.Cleanup(func() {
		if err := watch.Close(); err != nil {
			t.Error(err)
		}
		<-read
	})
	if ok, why := watch.Exact(); !ok {
		t.Skipf("skipped: the scheduler cannot be followed here: %v", why)
	}
	return func() time.Duration { return watch.Totals().Covered }
}

// newTestBoard makes a board. It goes when the test ends.
func newTestBoard(t *testing.T) (path string, w *board.Writer) {
	t.Helper()
	path = t.TempDir() + "/otelgc/board"
	w, err := board.Create(board.WriterOptions{Paths: []string{path}, Source: stall.ProbePeriodic})
	if err != nil {
		t.Skipf("skipped: no board here: %v", err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return path, w
}

// TestPausesWithoutACPU lets strangers have all CPUs: pauses that are long for
// it are called stolen CPU, and each that is has the evidence with it.
func TestPausesWithoutACPU(t *testing.T) {
	path, w := newTestBoard(t)
	m := startTest(t, WithExactBudget(1), WithBoard(path))
	watchThis(t, m, w)
	until(t, "the board to be read", m.machine.board.Open)
	collect := func(is func(*gc.Collection) bool) func() bool {
		return func() bool {
			garbage(10_000)
			runtime.GC()
			all, _ := m.Collections(0)
			return slices.ContainsFunc(all, func(c gc.Collection) bool { return is(&c) })
		}
	}
	until(t, "the usual length of a pause", collect(func(c *gc.Collection) bool { return !c.UsualPause.IsZero() }))
	for range 2 * runtime.NumCPU() {
		stranger := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := stranger.Start(); err != nil {
			t.Skipf("skipped: no stranger: %v", err)
		}
		t.Cleanup(func() {
			_ = stranger.Process.Kill()
			_ = stranger.Wait() // killed
		})
	}
	until(t, "a pause that is called stolen CPU", collect(func(c *gc.Collection) bool { return c.SlowedBy == gc.StolenCPU }))
	settle(t, m)
	all, _ := m.Collections(0)
	for i := range all {
		c := &all[i]
		if c.SlowedBy == gc.NotSlowed {
			continue
		}
		t.Logf("collection %d (%v): %s; during it %+v", c.Index, c.Fidelity, c.Slowed(), c.HostDuring)
		var without time.Duration
		for _, p := range c.Pauses {
			without += p.HostDuring.CPUWait.Or(0) + p.HostDuring.PageWait.Or(0)
		}
		if paused, usual := c.PauseTotal(), c.UsualPause.Or(0); without > paused || paused < 2*usual || without < (paused-usual)/2 {
			t.Errorf("collection %d: paused %v, usual %v, without a CPU %v", c.Index, paused, usual, without)
		}
	}
}
