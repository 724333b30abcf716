package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/demo/wire"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestCount: a collection that delayed the handler and the way back counts once,
// and two of one stop are told.
func TestCount(t *testing.T) {
	collection := func(index uint64, kind gc.Kind, pauses ...gc.Pause) gc.Collection {
		return gc.Collection{Index: index, Cycles: 1, Kind: kind, Pauses: pauses}
	}
	pause := func(from, to stall.Instant) gc.Pause { return gc.Pause{Start: from * us, End: to * us} }
	vague := func(from, to stall.Instant, slack time.Duration) gc.Pause {
		p := pause(from, to)
		p.Slack = slack * time.Microsecond
		return p
	}
	// Every request is handled from 110 to 150 us and is back at 200 us.
	for name, tt := range map[string]struct {
		counted     int           // by the service
		last        stall.Instant // when the last of these began
		collections []gc.Collection
		want        blame.Case
	}{
		"one, on both sides": {1, 120 * us,
			[]gc.Collection{collection(1, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Collections: 1}},
		"one on each side": {1, 120 * us,
			[]gc.Collection{collection(1, gc.Background, pause(120, 130)), collection(2, gc.Background, pause(160, 170))},
			blame.Case{Collections: 2}},
		// The goroutine was parked in the first pause, so it delayed nothing.
		"one that counts on the way back only": {0, 0,
			[]gc.Collection{collection(1, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Collections: 1}},
		"one that counts on the way back only, after one that counted": {1, 112 * us,
			[]gc.Collection{collection(1, gc.Background, pause(112, 115), pause(117, 118)), collection(2, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Collections: 2}},
		// The request swept for the first, and then the second began.
		"one that was swept for, and one on the way back": {1, 90 * us,
			[]gc.Collection{collection(1, gc.Background, pause(90, 91), pause(98, 99)), collection(2, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Collections: 2}},
		// In fidelity cycle the place of a first pause is an estimate.
		"one that began a little earlier by the estimate": {1, 119 * us,
			[]gc.Collection{collection(1, gc.Background, pause(112, 115), pause(117, 118)), collection(2, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Collections: 1}},
		"one on the way back for certain, and one that may lie there": {0, 0,
			[]gc.Collection{collection(1, gc.Background, pause(160, 170)), collection(2, gc.Background, vague(185, 195, 20))},
			blame.Case{Collections: 1}},
		"two, of one stop that may lie in it": {2, 112 * us,
			[]gc.Collection{collection(1, gc.Background, vague(195, 199, 20)), collection(2, gc.Background, vague(195, 199, 20))},
			blame.Case{Collections: 2}},
		"none": {0, 0, []gc.Collection{collection(1, gc.FullBlocking, pause(300, 310))}, blame.Case{}},
		"full and blocking": {0, 0,
			[]gc.Collection{collection(1, gc.FullBlocking, pause(160, 170))},
			blame.Case{Collections: 1, FullBlocking: true}},
		"two in one stop": {2, 120 * us,
			[]gc.Collection{collection(1, gc.Background, pause(120, 130)), collection(2, gc.Background, pause(120, 130))},
			blame.Case{Collections: 2, OneStop: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := stall.Window{Arrival: 100 * us, Start: 110 * us, End: 150 * us}
			s := stall.Share{Total: 50_000, AppOrHost: 50_000, Covered: 50_000, Fidelity: stall.Exact, Collections: tt.counted, LastCollection: tt.last}
			if tt.counted > 0 {
				s.AppOrHost, s.Charged[stall.GCPause] = 40_000, 10_000
			}
			a := tell(t, func(out *wire.Writer) []error {
				errs := []error{out.Hello(hello()), out.Window(&w, &s)}
				for i := range tt.collections {
					errs = append(errs, out.Collection(&tt.collections[i]))
				}
				return append(errs, out.Farewell(&wire.Farewell{}))
			})
			m, err := match([]load.Answer{{Arrival: 100 * us, Ready: 101 * us, Sent: 101 * us, Receipt: 200 * us}}, a, new(followed))
			if err != nil {
				t.Fatal(err)
			}
			var c blame.Case
			m.look(0, &c)
			got := blame.Case{Collections: c.Collections, FullBlocking: c.FullBlocking, OneStop: c.OneStop}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("hits (-want +got):\n%s", diff)
			}
			if (c.Share.GC() > 0) != (c.Collections > 0) {
				t.Errorf("%d collections delayed the request by %v", c.Collections, c.Share.GC())
			}
		})
	}
}

func TestCollecting(t *testing.T) {
	m := matcher{active: []stall.Span{{Start: 10, End: 31}, {Start: 50, End: 60}}}
	for _, tt := range []struct {
		span stall.Span
		want int64
	}{{stall.Span{Start: 0, End: 100}, 31}, {stall.Span{Start: 20, End: 55}, 16}, {stall.Span{Start: 31, End: 50}, 0}, {stall.Span{Start: 70, End: 80}, 0}} {
		if got := int64(m.collecting(tt.span)); got != tt.want {
			t.Errorf("collecting(%v) = %d, want %d", tt.span, got, tt.want)
		}
	}
}
