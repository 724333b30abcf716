package otelgc

import (
	"context"
	"testing"
	"time"
)

// TestFollowedAcrossSlices: a window that is open when a slice ends is followed
// in the next, where it leaves no mark before its end, and so is its child.
func TestFollowedAcrossSlices(t *testing.T) {
	skipIfTraced(t)
	var got shares
	m := startTest(t, WithExactBudget(1), WithOnWindow(got.add))
	waitMarking(t, m)
	w, opened := m.Begin(context.Background()), time.Now()
	ctx, joined, work, done := w.Context(context.Background()), make(chan bool), make(chan time.Duration), make(chan bool)
	go func() {
		defer close(done)
		defer Join(ctx)()
		close(joined)
		spin(<-work)
	}()
	<-joined
	spin(50 * time.Millisecond)
	gap := time.Now()
	resume, err := m.PauseExact(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	resume()
	waitMarking(t, m)
	hole := time.Since(gap)
	// Longer than all the waiting before, however long that was.
	before := time.Since(opened)
	spin(before)
	work <- 2 * before
	<-done
	w.End()
	settle(t, m)
	s := got.all[0].s
	if s.Unseen > hole+before/2 {
		t.Errorf("unseen for %v, though nobody traced for %v at most: %s", s.Unseen, hole, s.Explain())
	}
	if s.App > before+before/2 {
		t.Errorf("the child's work is the program's own waiting: %s", s.Explain())
	}
}

// spin works for d of wall time.
func spin(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}
