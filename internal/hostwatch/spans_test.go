package hostwatch

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

func TestSplit(t *testing.T) {
	a := []stall.Span{span(0, 10), span(20, 30), span(40, 50)}
	b := []stall.Span{span(5, 22), span(24, 26), span(28, 45), span(60, 70)}
	outside, inside := split(nil, nil, a, b)
	if diff := cmp.Diff([]stall.Span{span(0, 5), span(22, 24), span(26, 28), span(45, 50)}, outside); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]stall.Span{span(5, 10), span(20, 22), span(24, 26), span(28, 30), span(40, 45)}, inside); diff != "" {
		t.Errorf("inside (-want +got):\n%s", diff)
	}
}

// FuzzDecodeEvent: events are what the program writes, and whatever they tell in the
// order of time, each thread is in one state at once.
func FuzzDecodeEvent(f *testing.F) {
	const threads, longest = 2, stall.Instant(1 << 60)
	f.Add(make([]byte, eventSize))
	var all []byte
	for _, e := range []event{
		{at: 1, tid: 7, kind: woken}, {at: 2, tid: 7, kind: in}, {at: 3, tid: 8, kind: waking}, {at: 5, tid: 7, state: uninterruptible, kind: out},
		{at: 6, tid: 8, kind: in}, {at: 7, tid: 9, kind: in}, {at: 8, tid: 8, kind: out}, {at: 9, tid: 7, kind: woken}, {at: 9, tid: 8, kind: woken},
	} {
		all = appendEvent(all, e)
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, begin, now := newTimeline(threads, 0), stall.Instant(0), stall.Instant(0)
		for ; len(b) >= eventSize; b = b[eventSize:] {
			e, ok := decodeEvent(b[:eventSize])
			if ok && (e.kind > waking || e.at <= 0 || e.tid <= 0) {
				t.Fatalf("accepted %+v", e)
			}
			if ok && e.at >= now && e.at < longest {
				l.take(e)
				if now = e.at; begin == 0 {
					begin = now
				}
			}
		}
		if e, ok := decodeEvent(b); ok {
			t.Fatalf("accepted %+v of %d bytes", e, len(b))
		}
		l.end(now)
		waits := total(t, l.waits)
		if l.delay < 0 || l.delay > waits || len(l.threads) > threads {
			t.Fatalf("a delay of %v in waits of %v, %d threads", l.delay, waits, len(l.threads))
		}
		if sum := waits + total(t, l.runs) + total(t, l.disks) + total(t, l.stops); sum > threads*now.Sub(begin) {
			t.Fatalf("%v of %d threads in %v: %+v", sum, threads, now.Sub(begin), l)
		}
	})
}

func appendEvent(b []byte, e event) []byte {
	ne := binary.NativeEndian
	b = ne.AppendUint64(b, uint64(e.at))
	b = ne.AppendUint32(ne.AppendUint32(b, uint32(e.tid)), e.state)
	return append(ne.AppendUint32(b, uint32(e.kind)), 0, 0, 0, 0)
}

func total(t *testing.T, list []stall.Span) (sum time.Duration) {
	t.Helper()
	for _, s := range list {
		if s.End < s.Start {
			t.Fatalf("%v runs backwards", s)
		}
		sum += s.Duration()
	}
	return sum
}
