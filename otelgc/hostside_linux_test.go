package otelgc

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/jitterprobe/board"
	"github.com/otelgc/otelgc/stall"
)

// TestRunningAndLeftAlone: of requests that only compute, what the machine took
// is the machine's and what it did not take is theirs, once somebody watches
// this process; before, nobody knows.
func TestRunningAndLeftAlone(t *testing.T) {
	path := t.TempDir() + "/otelgc/board"
	w, err := board.Create(board.WriterOptions{Path: path, Source: stall.ProbePeriodic})
	if err != nil {
		t.Skipf("skipped: no board here: %v", err)
	}
	defer func() { _ = w.Close() }()
	var got shares
	m := startTest(t, WithExactBudget(1), WithOnWindow(got.add), WithBoard(path))
	until(t, "the board to be read", m.host.open.Load)
	s := serve(t, m, func() {
		for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
			garbage(10)
		}
	})
	waitForSlice(t, m)
	sum := func() (all stall.Share) {
		w.Advance(m.clock.Now(), 0, 0)
		flush(t, m)
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

	var mu sync.Mutex
	var covered time.Duration
	watch, err := hostwatch.Start(hostwatch.Options{PID: os.Getpid(), OnBatch: func(b *hostwatch.Batch) {
		mu.Lock()
		defer mu.Unlock()
		covered = b.Totals.Covered
		records := append([]stall.Interval(nil), b.Denied...)
		for _, s := range append(b.Covered, stall.Span{Start: b.Span.End, End: b.Span.End}) {
			here := m.place
			records = append(records, stall.Interval{
				Start: s.Start, End: s.End, Source: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1,
				Owner: stall.Owner{PID: here.PID, Created: here.Created},
			})
		}
		for _, v := range records {
			if err := w.Append(v); err != nil {
				t.Error(err)
			}
		}
		w.Advance(b.Span.End, 0, 0)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := watch.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if ok, why := watch.Exact(); !ok {
		t.Skipf("skipped: the scheduler cannot be followed here: %v", why)
	}
	until(t, "time that is covered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return covered > 100*time.Millisecond
	})
	// On a busy machine most of the time some thread waits, and nobody can say
	// whether it was this request's: so until some is sure.
	var after stall.Share
	until(t, "more than before that is surely the program's own", func() bool {
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
