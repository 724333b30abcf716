package stall

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fuzzUnit divides wakeupGrace, so that both sides of it can occur.
const fuzzUnit = 10 * time.Microsecond

// script turns bytes into windows and evidence. Nothing in it is well formed on
// purpose: spans overlap, run backwards and are out of order.
type script struct{ rest []byte }

func (r *script) next(n int) int {
	if len(r.rest) == 0 {
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return int(b) % n
}

func (r *script) instant() Instant { return Instant(r.next(64)+1) * Instant(fuzzUnit) }

func (r *script) span() Span {
	s := r.instant()
	return Span{s, s + Instant(r.next(24)-2)*Instant(fuzzUnit)}
}

func (r *script) window() Window {
	s := r.span()
	w := Window{Start: s.Start, End: s.End}
	if r.next(3) == 0 {
		w.Arrival = r.instant()
	}
	if r.next(3) == 0 {
		w.Receipt = r.instant()
	}
	if r.next(4) != 0 {
		w.Place = &Place{PID: int32(r.next(2)), Created: uint64(r.next(2)), Cgroups: []uint64{uint64(r.next(3)), 2}}
	}
	return w
}

func (r *script) intervals(first Cause) []Interval {
	var list []Interval
	for range r.next(6) {
		s := r.span()
		v := Interval{Start: s.Start, End: s.End, Scope: Scope(r.next(int(NumScopes) + 1))}
		if r.next(2) == 0 {
			v.Slack = time.Duration(r.next(6)-1) * fuzzUnit
		}
		v.Cause = Cause(r.next(int(NumCauses) + 1))
		if first != NoCause && r.next(8) != 0 {
			v.Cause = first + v.Cause%8
		}
		v.Owner = Owner{Cgroup: uint64(r.next(4)), PID: int32(r.next(2)), Created: uint64(r.next(2))}
		list = append(list, v)
	}
	return list
}

func (r *script) evidence() Evidence {
	e := Evidence{Process: r.intervals(NoCause), Own: r.intervals(GCAssist), Host: r.intervals(HostThrottled)}
	for i := range e.Process {
		if c := e.Process[i].Cause; c%2 == 0 {
			e.Process[i].Cause = []Cause{GCPause, RuntimeSuspension, RuntimeUnknown}[c/2%3]
		}
	}
	for _, v := range e.Process {
		if r.next(2) == 0 { // the goroutine made it
			e.Own = append(e.Own, v)
		}
	}
	at := Instant(r.next(8)) * Instant(fuzzUnit)
	for range r.next(8) {
		if r.next(8) == 0 {
			at = r.instant()
		}
		end := at + Instant(r.next(16))*Instant(fuzzUnit)
		e.Track = append(e.Track, StateSpan{at, end, State(r.next(4))})
		at = end + Instant(r.next(2))*Instant(fuzzUnit)
	}
	for range r.next(4) {
		e.Seen = append(e.Seen, r.span())
	}
	for range r.next(3) {
		e.TargetSeen = append(e.TargetSeen, r.span())
	}
	return e
}

// FuzzJoin holds Join and All to the oracle, from one evidence to the next.
func FuzzJoin(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b := make([]byte, 250)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var j Joiner // of all, so that what one join leaves behind would show
		r := &script{b}
		compareJoin(t, &j, r)
		for len(r.rest) > 0 {
			compareJoin(t, &j, r)
		}
	})
}

// compareJoin joins the next windows and evidence of a script.
func compareJoin(t *testing.T, j *Joiner, r *script) {
	t.Helper()
	var windows []Window
	for range 1 + r.next(4) {
		windows = append(windows, r.window())
	}
	e := r.evidence()
	var want []Share
	for i := range windows {
		want = append(want, oracle(&windows[i], &e, fuzzUnit))
		var got Share
		j.Join(&windows[i], &e, &got)
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("Join of %+v with %+v (-want +got):\n%s", windows[i], e, diff)
		}
		checkPieces(t, j.Pieces(nil, &windows[i], &e), &windows[i], &got)
	}
	var got []Share
	j.All(windows, &e, func(i int, s *Share) bool {
		got = append(got, *s)
		return true
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("All of %+v with %+v (-want +got):\n%s", windows, e, diff)
	}
}
