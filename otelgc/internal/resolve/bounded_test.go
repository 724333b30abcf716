package resolve

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/exact"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// TestBoundedAtAnyRate: whatever source hangs, whatever the rate, and with as
// many streams as there are slots, no memory grows with time: windows over the
// limit are counted, and those that are kept are told after the deadline.
func TestBoundedAtAnyRate(t *testing.T) {
	const seconds, rate = 6, window.MaxWaiting / 2 // more in the time of a deadline than may wait
	for name, hung := range map[string]struct{ cycle, exact bool }{
		"none": {}, "the watcher": {cycle: true}, "the trace": {exact: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t)
			var streams []window.Open
			for range window.SlotCount {
				streams = append(streams, p.open(p.now+500))
			}
			told, lost := 0, uint64(0)
			for i := range stall.Instant(seconds) {
				at := (i + 1) * second
				for k := range stall.Instant(rate) {
					p.Windows.Requests.Push(window.Ended{Start: at + k, End: at + k + 1, Held: at + k, Slot: window.NoSlot})
				}
				lost += p.Windows.Requests.Lost()
				if !hung.exact {
					p.Tracer.Store.Learn(&gotrace.Generation{Span: stall.Span{Start: at, End: at + second}}, nil)
				}
				if !hung.cycle {
					p.Timeline.Cycle.Advance(at + second)
				}
				p.Resolve(at + second + 20e6)
				told += len(p.got)
				p.got = p.got[:0]
				checkBounds(t, p)
			}
			if hung.cycle || hung.exact {
				if lost == 0 || uint64(told)+lost+p.Windows.Requests.Came()-p.Windows.Requests.Went() != seconds*rate {
					t.Errorf("%d windows told, %d lost and %d waiting, want %d in all", told, lost, p.Windows.Requests.Came()-p.Windows.Requests.Went(), seconds*rate)
				}
			} else if lost != 0 || told != seconds*rate {
				t.Errorf("%d windows told and %d lost, want all %d told", told, lost, seconds*rate)
			}
			end := stall.Instant(seconds+1) * second
			for _, w := range streams[:10] {
				p.end(w, end)
			}
			late := end.Add(2 * timeline.Deadline)
			p.Resolve(late)
			streamsTold := 0
			for _, r := range p.got {
				if r.s.Total == end.Sub(second+500) {
					streamsTold++
				}
			}
			if streamsTold != 10 {
				t.Errorf("%d streams are told of after the deadline, want 10", streamsTold)
			}
		})
	}
}

func checkBounds(t *testing.T, p *played) {
	t.Helper()
	if n := p.Windows.Requests.Came() - p.Windows.Requests.Went(); n > window.MaxWaiting {
		t.Fatalf("%d windows wait, want at most %d", n, window.MaxWaiting)
	}
	if p.Tracer.Store.Unsettled(p.now.Add(-exact.KeptGenerations * time.Second)) {
		t.Fatalf("more than %d generations are kept", exact.KeptGenerations)
	}
	if n := len(p.longs.of); n > window.SlotCount {
		t.Fatalf("%d windows are settled in part, want at most %d", n, window.SlotCount)
	}
}

// TestLongsAreForgotten: what is known of a window that nobody resolves, be it
// dropped or given up, goes when its slot is another's.
func TestLongsAreForgotten(t *testing.T) {
	p := play(t)
	for i := range stall.Instant(20) {
		w := p.open(p.now + 1)
		p.Tracer.Store.LearnUnseen(p.now.Add(cutSeldom))
		p.see(p.now.Add(cutSeldom))
		p.Windows.Slots.Claim(w.Slot, w.Held)
		if i%2 == 0 {
			p.Windows.Slots.Give(w.Slot, p.now)
		}
	}
	for range 3 {
		p.Tracer.Store.LearnUnseen(p.now.Add(cutSeldom))
		p.see(p.now.Add(cutSeldom))
	}
	if n := len(p.longs.of); n != 0 {
		t.Errorf("%d windows are settled in part, none is open", n)
	}
}

// TestSlowResolver: who is behind by more than is kept finds windows unseen, and
// the rest of the sums right.
func TestSlowResolver(t *testing.T) {
	p := play(t)
	w := p.open(second + 500)
	for i := range stall.Instant(2 * exact.KeptGenerations) {
		at := (i + 1) * second
		g := &gotrace.Generation{Span: stall.Span{Start: at, End: at + second}, Tracks: []gotrace.Track{
			gotrace.NewTrack(7, running(at, at+second)),
		}}
		if i == 0 {
			g.Marks = []gotrace.Mark{{At: second + 600, Goroutine: 7, Key: key(w.Slot, gotrace.WindowBegin)}}
		}
		if i == 2*exact.KeptGenerations-1 {
			g.Marks = []gotrace.Mark{{At: at + 100, Goroutine: 7, Key: key(w.Slot, gotrace.WindowEnd)}}
		}
		p.Tracer.Store.Learn(g, nil)
	}
	p.end(w, (2*exact.KeptGenerations+1)*second)
	p.see((2*exact.KeptGenerations + 1) * second)
	if len(p.got) != 1 {
		t.Fatalf("%d windows, want 1", len(p.got))
	}
	s := p.got[0].s
	if want := exact.KeptGenerations * time.Second; s.AppOrHost != want || s.Unseen != s.Total-want {
		t.Errorf("got %v followed of %v and %v unseen, want %v followed", s.AppOrHost, s.Total, s.Unseen, want)
	}
}
