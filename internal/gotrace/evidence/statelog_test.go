package evidence

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

const second = stall.Instant(time.Second)

// someSpans makes n states of all kinds and lengths, with gaps between some.
func someSpans(random *rand.Rand, at stall.Instant, n int) (spans []gotrace.TrackSpan) {
	for range n {
		if random.IntN(8) == 0 {
			at += stall.Instant(random.Int64N(1000))
		}
		end := at + stall.Instant(random.Int64N(1<<random.IntN(40)))
		s := gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: at, End: end, State: stall.State(1 + random.IntN(3))}}
		switch random.IntN(4) {
		case 0:
			s.GCWait = true
		case 1:
			s.Held = true
		case 2:
			s.Reason = reasonNetwork
		}
		spans = append(spans, s)
		at = end
	}
	return spans
}

// TestStateLogKeepsStates: what was put is found again, from any time on.
func TestStateLogKeepsStates(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 18))
	var s stateLog
	for range 3 {
		s.clear(10, 1)
		for id := range uint64(20) {
			spans := someSpans(random, second, random.IntN(5*indexEvery))
			given := gotrace.NewTrack(id, spans...)
			kept, ok := s.put(&given)
			if !ok {
				t.Fatalf("no room for %d states", len(spans))
			}
			end := stall.Instant(2 * second)
			if len(spans) > 0 {
				end = spans[len(spans)-1].End + 10
			}
			for range 50 {
				from := second - 10 + stall.Instant(random.Int64N(int64(end-second)))
				in := stall.Span{Start: from, End: from + stall.Instant(random.Int64N(int64(end-from)+1))}
				var got, want []State
				for w := kept.in(in); w.Next(); {
					got = append(got, w.State)
				}
				for _, span := range spans {
					if span.End > in.Start && span.Start < in.End {
						want = append(want, newState(span))
					}
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(State{})); diff != "" {
					t.Fatalf("states of %v (-want +got):\n%s", in, diff)
				}
			}
		}
	}
}

// TestStateLogIsFull: a track that does not fit leaves no part of it behind.
func TestStateLogIsFull(t *testing.T) {
	var s stateLog
	random := rand.New(rand.NewPCG(19, 20))
	short, long := gotrace.NewTrack(1, someSpans(random, second, 100)...), gotrace.NewTrack(2, someSpans(random, second, maxStates/2)...)
	if _, ok := s.put(&short); !ok {
		t.Fatal("no room for 100 states")
	}
	bytes, index := len(s.bytes), len(s.index)
	kept, ok := s.put(&long)
	if ok || !kept.lost || kept.goroutine != 2 {
		t.Errorf("put: got %v, %t of what does not fit", kept.lost, ok)
	}
	if len(s.bytes) != bytes || len(s.index) != index {
		t.Errorf("%d bytes and %d index are kept, want %d and %d", len(s.bytes), len(s.index), bytes, index)
	}
}
