package exact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestUnpolledNetwork: a request that has arrived while a GC worker had the only
// P waited for that, though its goroutine was parked on the network; with
// another P somebody may have polled, and nothing is said.
func TestUnpolledNetwork(t *testing.T) {
	const arrival, start = second + 1000, second + 5000
	parked := func(reason string) gotrace.TrackSpan {
		return gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: second, End: start - 100, State: stall.StateParked}, Reason: reason}
	}
	worker := func(kind gotrace.WorkerKind, from, to stall.Instant) gotrace.Worker {
		return gotrace.Worker{Span: stall.Span{Start: from, End: to}, Kind: kind}
	}
	for name, test := range map[string]struct {
		processors int
		parked     gotrace.TrackSpan
		worker     gotrace.Worker
		want       []stall.Interval
	}{
		"one P":          {1, parked("network"), worker(gotrace.Fractional, second+500, second+2000), []stall.Interval{own(arrival, second+2000, stall.SchedGC)}},
		"two":            {2, parked("network"), worker(gotrace.Fractional, second+500, second+2000), nil},
		"idle priority":  {1, parked("network"), worker(gotrace.Idle, second+500, second+2000), nil},
		"asleep":         {1, parked("sleep"), worker(gotrace.Fractional, second+500, second+2000), nil},
		"before arrival": {1, parked("network"), worker(gotrace.Fractional, second+500, second+900), nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newStore(second)
			b.SetProcessors(test.processors)
			b.Learn(&gotrace.Generation{
				Span:    stall.Span{Start: second, End: 2 * second},
				Marks:   []gotrace.Mark{mark0(start+10, 7, gotrace.WindowBegin, 3)},
				Tracks:  []gotrace.Track{gotrace.NewTrack(7, test.parked, running(start-100, 2*second))},
				Workers: []gotrace.Worker{test.worker},
			}, nil)
			w := stall.Window{Arrival: arrival, Start: start, End: start + 1000}
			if diff := cmp.Diff(test.want, followed(b, w, 3, w.Start).Own); diff != "" {
				t.Errorf("own intervals (-want +got):\n%s", diff)
			}
		})
	}
}
