package resolve

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/race"
	"github.com/otelgc/otelgc/otelgc/internal/exact"
	"github.com/otelgc/otelgc/otelgc/internal/host"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

const second = stall.Instant(time.Second)

// played is a resolver whose sources and clock are the test's.
type played struct {
	*Resolver
	Options // of the resolver
	t       testing.TB
	now     stall.Instant // everything up to now has been seen
	got     []resolved
}

type resolved struct {
	w stall.Window
	s stall.Share
}

func play(t testing.TB) *played {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	p := &played{t: t, now: second}
	place, windows, line := board.Here(), window.NewSet(new(window.Queue)), timeline.New(p.now)
	p.Options = Options{
		Clock: clock, Place: place, Since: p.now, Windows: windows, Timeline: line,
		Tracer:      exact.New(exact.Options{Clock: clock, Since: p.now, Slots: windows.Slots, Timeline: line}),
		Board:       host.NewBoard(nil, place, clock),
		WantsPieces: func(time.Duration, stall.Instant) bool { return true },
		Conclude: func(_ *window.Ended, w *stall.Window, s *stall.Share, pieces *Pieces) {
			p.got = append(p.got, resolved{*w, *s})
			checkPieces(t, pieces, w, s)
		},
	}
	p.Resolver = New(p.Options)
	p.pace.Sleep = func(time.Duration) {}
	return p
}

// checkPieces checks that pieces fill the window, and sum to its share if they are not coarse.
func checkPieces(t testing.TB, pieces *Pieces, w *stall.Window, s *stall.Share) {
	t.Helper()
	if pieces.List == nil && s.Total > time.Minute {
		return // too many windows last
	}
	if len(pieces.List) > MaxPieces {
		t.Errorf("%d pieces, want at most %d", len(pieces.List), MaxPieces)
	}
	at := w.Extent().Start
	var sums stall.Share
	for _, p := range pieces.List {
		if p.Start != at || p.End <= p.Start {
			t.Errorf("piece from %d to %d after %d", p.Start, p.End, at)
		}
		*sums.Of(p.Part) += p.End.Sub(p.Start)
		at = p.End
	}
	for p := range stall.NumParts {
		if pieces.Coarse {
			break
		}
		if got, want := *sums.Of(p), *s.Of(p); got != want {
			t.Errorf("pieces of %v: got %v, want %v", p, got, want)
		}
	}
}

// open opens a window at t.
func (p *played) open(start stall.Instant) window.Open {
	p.t.Helper()
	w := window.Open{Slot: p.Windows.Slots.Take(), Held: start, Start: start}
	if w.Slot == window.NoSlot {
		p.t.Fatal("no slot is left")
	}
	p.Windows.Slots.Publish(w)
	return w
}

// end ends it and leaves it to be resolved.
func (p *played) end(w window.Open, end stall.Instant) {
	p.Windows.Slots.Claim(w.Slot, w.Held)
	p.Windows.Slots.Give(w.Slot, end)
	p.Windows.Requests.Push(window.Ended{Start: w.Start, End: end, Held: w.Held, Slot: w.Slot})
}

// trace has a generation seen, a little after its end.
func (p *played) trace(g *gotrace.Generation) {
	p.Tracer.Store.Learn(g, nil)
	p.see(g.End)
}

// see has everything up to t seen.
func (p *played) see(t stall.Instant) {
	p.Timeline.Cycle.Advance(t)
	p.now = max(p.now, t)
	p.Resolve(p.now + 20e6)
}

func key(slot int16, m gotrace.WindowMark) string { return m.Key(slot) }

func running(start, end stall.Instant) gotrace.TrackSpan {
	return inState(start, end, stall.StateRunning)
}

func runnable(start, end stall.Instant) gotrace.TrackSpan {
	return inState(start, end, stall.StateRunnable)
}

func inState(start, end stall.Instant, s stall.State) gotrace.TrackSpan {
	return gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: start, End: end, State: s}}
}

// anHour returns how many seconds the long tests play: some minutes for the race
// detector, which has nothing to find in what one goroutine plays.
func anHour() stall.Instant {
	if race.Enabled {
		return 600
	}
	return 3600
}
