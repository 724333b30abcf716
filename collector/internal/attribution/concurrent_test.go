package attribution

import (
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestConcurrent: events, spans, releases and readings of the counters at once,
// for the race detector; and every span goes on once, and counts once.
func TestConcurrent(t *testing.T) {
	const senders, rounds = 4, 150
	a, c := New(Config{MaxProcesses: 3, SlowSpan: time.Millisecond}), new(catcher)
	var wg sync.WaitGroup
	for n := range int64(senders) {
		wg.Go(func() {
			s := newSender()
			s.pid = 42 + n
			for i := range int64(rounds) {
				at := 100*sec + i*20*ms
				a.Learn(s.collection(stall.GCWatch, i+1, at+ms, at+2*ms, 0))
				a.Learn(s.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, at+3*ms, at+4*ms))
				a.Learn(s.status(stall.GCWatch, at+20*ms))
				a.Hold(s.span(at, at+10*ms), c.sink(), start)
			}
		})
	}
	quit := make(chan struct{})
	var release sync.WaitGroup
	release.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				a.Tick(start)
				a.Held()
				a.Lost()
				summed(a, start, start)
			}
		}
	})
	wg.Wait()
	close(quit)
	release.Wait()
	a.Flush()
	if len(c.spans) != senders*rounds || len(c.slow) != senders*rounds {
		t.Errorf("%d spans and %d events went on, want %d of each", len(c.spans), len(c.slow), senders*rounds)
	}
	md, _ := summed(a, start, start)
	requests := int64(0)
	for _, p := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().All() {
		requests += p.IntValue()
	}
	if requests != senders*rounds {
		t.Errorf("%d requests counted, want %d", requests, senders*rounds)
	}
}

// TestLearnBesideJoins: while spans are handed on, and whoever takes them is
// slow, events and further spans are taken in.
func TestLearnBesideJoins(t *testing.T) {
	a, s := New(Config{}), newSender()
	taking, taken := make(chan struct{}), make(chan struct{})
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Hold(s.span(100*sec, 100*sec+10*ms), Sink{Take: func(p *Parcel) { close(taking); <-taken; p.Done(true) }}, start)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Tick(start)
	}()
	<-taking
	a.Learn(s.status(stall.GCWatch, 102*sec)) // would not return
	a.Hold(s.span(100*sec, 100*sec+10*ms), Sink{}, start)
	if n, _ := a.Held(); n != 2 {
		t.Errorf("%d spans held, want 2: what is being handed on still takes memory", n)
	}
	close(taken)
	<-done
}

// TestFlushWaits: when Flush returns, a release that was under way has handed on
// what it had: whoever stops next may stop.
func TestFlushWaits(t *testing.T) {
	a, s := New(Config{}), newSender()
	taking, taken := make(chan struct{}), make(chan struct{})
	handed := false
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Hold(s.span(100*sec, 100*sec+10*ms), Sink{Take: func(p *Parcel) { close(taking); <-taken; handed = true; p.Done(true) }}, start)
	go a.Tick(start)
	<-taking
	time.AfterFunc(10*time.Millisecond, func() { close(taken) })
	if a.Flush(); !handed {
		t.Error("Flush returned while spans were being handed on")
	}
}
