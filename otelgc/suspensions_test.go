package otelgc

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

func TestSuspensionsAreToldOnce(t *testing.T) {
	at := second + 100e6
	v := stall.Interval{Start: at, End: at + 20_000, Slack: 10 * time.Millisecond, Cause: stall.RuntimeSuspension}
	exact := gotrace.Stop{Span: stall.Span{Start: at + 1000, End: at + 22_000}, Reason: "read mem stats"}
	for _, c := range []struct {
		name       string
		start, end stall.Instant // of what was watched
		stops      []gotrace.Stop
		want       int // told by the watcher
	}{
		{"not watched", 0, 0, nil, 1},
		{"watched", second, 2 * second, []gotrace.Stop{exact}, 0},
		{"watched in part, and seen", at - 1000, 2 * second, []gotrace.Stop{exact}, 0},
		{"watched in part, and not seen", at + 1e6, 2 * second, nil, 1},
	} {
		b := newBook(second, stall.Clock{})
		s := &suspensions{book: b}
		s.hold([]stall.Interval{v})
		told := 0
		yield := func(stall.Interval) { told++ }
		s.settle(at, yield)
		if told != 0 {
			t.Errorf("%s: told before the exact source had passed", c.name)
		}
		if c.end != 0 {
			b.learn(&gotrace.Generation{Span: stall.Span{Start: c.start, End: c.end}, Stops: c.stops}, nil)
		}
		b.learnUnseen(3 * second)
		s.settle(3*second, yield)
		s.settle(4*second, yield)
		if told != c.want {
			t.Errorf("%s: told %d times, want %d", c.name, told, c.want)
		}
	}
}
