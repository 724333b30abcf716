package senders

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// script turns bytes into small numbers.
type script []byte

func (s *script) next(n int) int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b) % n
}

// FuzzKept: whatever stalls, statuses, pauses and requests come in whatever order, what the budget
// counts is what is kept, no list passes its limit, and pauses and requests stay in order; of each request it is counted what became of it.
func FuzzKept(f *testing.F) {
	random := rand.New(rand.NewPCG(17, 18))
	for range 50 {
		b := make([]byte, 4000)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const second = stall.Instant(time.Second)
		s := script(b)
		m := &budget.Memory{Budget: &budget.Budget{MaxBytes: 4 << (10 + s.next(8))}, Wait: 10 * second, Back: 130 * second}
		if !m.Know(LogBytes) {
			return // there is no room for a log
		}
		l, p, q := NewLog(stall.GCWatch, m), &PauseLog{Memory: m}, &TracedLog{Memory: m, Tally: new(Tally)}
		noted := uint64(0)
		now, last := 1000*second, 1000*second
		var scratch []stall.Interval
		for len(s) > 0 {
			at := now - stall.Instant(s.next(8)*s.next(3))*second
			switch s.next(6) {
			case 4:
				for i := range s.next(8) * s.next(12) {
					start := at + stall.Instant(i*s.next(3))
					if q.Note(&semconv.Traced{Span: stall.Span{Start: start, End: start + stall.Instant(s.next(9))}}, time.Duration(now)) {
						noted++
					}
				}
			case 5:
				roots := make([]Root, s.next(5))
				for i := range roots {
					start := at + stall.Instant(s.next(9))
					roots[i] = Root{Span: stall.Span{Start: start, End: start + stall.Instant(s.next(9))}, Task: Task(""), ID: SpanID{Span: [8]byte{byte(s.next(3))}}}
				}
				q.Match(roots)
				q.Expire(time.Duration(now))
			case 0:
				now += stall.Instant(s.next(5)*s.next(12)) * second
			case 1:
				for i := range 1 + s.next(64) {
					l.Keep(stall.Interval{Start: at + stall.Instant(i), End: at + stall.Instant(i+s.next(9)), Cause: stall.GCPause}, &scratch)
				}
			case 2:
				st := semconv.Status{Since: min(last-stall.Instant(s.next(3))*second, at), At: at, Watermark: at}
				st.Unseen = make([]stall.Span, s.next(5))
				for i := range st.Unseen {
					st.Unseen[i] = stall.Span{Start: at - stall.Instant(s.next(3))*second, End: at}
				}
				if s.next(3) > 0 {
					last = at // the next one follows
				}
				l.Learn(&st, m.Wait)
			case 3:
				var e wire.Event
				e.Kind = gc.Background
				for i := range s.next(8) * s.next(12) {
					start := at + stall.Instant(i*s.next(3))
					e.Intervals = append(e.Intervals, stall.Interval{Start: start, End: start + stall.Instant(s.next(9)), Ref: uint64(s.next(9))})
				}
				p.Note(&e)
			}
			checkLog(t, l)
			checkPauses(t, p)
			checkTraced(t, q, noted)
			if _, _, known, _ := m.Sizes(); known != l.Bytes+p.Bytes+q.Bytes || known > m.MaxBytes/budget.MostKnown {
				t.Fatalf("%d bytes are counted of %d, want %d and %d", known, m.MaxBytes, l.Bytes, p.Bytes+q.Bytes)
			}
		}
	})
}

func checkLog(t *testing.T, l *Log) {
	t.Helper()
	_, room := l.Size()
	waiting := cap(l.early) * statusBytes
	for i := range l.early {
		waiting += cap(l.early[i].Unseen) * spanOfBytes
	}
	if room < firstStalls || room > MostStalls || waiting != l.queued || l.Bytes != LogBytes+(room-firstStalls)*stallBytes+waiting {
		t.Fatalf("room for %d, %d bytes of statuses that wait, counted %d of %d", room, waiting, l.queued, l.Bytes)
	}
	if len(l.early) > keptEarly+1 {
		t.Fatalf("%d statuses wait", len(l.early))
	}
}

func checkPauses(t *testing.T, p *PauseLog) {
	t.Helper()
	if p.Bytes != cap(p.list)*pauseBytes || len(p.list) > mostPauses {
		t.Fatalf("%d pauses with room for %d, %d bytes", len(p.list), cap(p.list), p.Bytes)
	}
	if !slices.IsSortedFunc(p.list, func(a, b pause) int { return int(a.Start - b.Start) }) {
		t.Fatalf("pauses out of order: %v", p.list)
	}
}

func checkTraced(t *testing.T, l *TracedLog, noted uint64) {
	t.Helper()
	if l.Bytes != cap(l.list)*tracedBytes || len(l.list) > mostTraced {
		t.Fatalf("%d requests with room for %d, %d bytes", len(l.list), cap(l.list), l.Bytes)
	}
	waiting := uint64(0)
	for i := range l.list {
		if q := &l.list[i]; !q.given && !q.ambiguous {
			waiting++
		}
	}
	y := l.Tally
	if all := y.Joined.Load() + y.Ambiguous.Load() + y.Unmatched.Load() + y.Limit.Load() + waiting; all < noted {
		t.Fatalf("%d of %d requests are counted", all, noted)
	}
	if !slices.IsSortedFunc(l.list, func(a, b traced) int { return int(a.Start - b.Start) }) {
		t.Fatal("requests out of order")
	}
}
