package source_test

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// watchdog is a Source that is fed by the program: a loop that should turn every 10 ms
// reports when it did not. The feed never waits; what finds no room is counted.
type watchdog struct {
	clock stall.Clock
	late  chan stall.Interval
	lost  source.Loss
	begun stall.Instant
	batch []stall.Interval
}

func newWatchdog() (*watchdog, error) {
	clock, err := stall.NewClock()
	return &watchdog{clock: clock, late: make(chan stall.Interval, 64), begun: clock.Now()}, err
}

// Late reports that the loop did not turn in v.
func (w *watchdog) Late(v stall.Span) {
	select {
	case w.late <- stall.Interval{Start: v.Start, End: v.End, Cause: stall.HostUnknown, Scope: stall.ScopeProcess, CPU: -1}:
	default:
		w.lost.Count++
		w.lost.Time += v.Duration()
	}
}

func (w *watchdog) Next(ctx context.Context) (source.Batch, error) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	w.batch = w.batch[:0]
	select {
	case v, open := <-w.late:
		if !open {
			return source.Batch{}, io.EOF
		}
		w.batch = append(w.batch, v)
	case <-timer.C: // nothing was late, which is news, too
	case <-ctx.Done():
		return source.Batch{}, ctx.Err()
	}
	return source.Batch{Watermark: w.clock.Now(), Intervals: w.batch, Lost: w.lost}, nil
}

func (w *watchdog) Close() error {
	close(w.late)
	return nil
}

// Status makes the watchdog a source.Reporter: its coverage becomes a metric.
func (w *watchdog) Status() source.Status {
	return source.Status{Origin: stall.ProbeRuntime, Observed: w.clock.Now().Sub(w.begun), Coverage: 1, Lost: w.lost}
}

// A source of one's own, as otelgc.WithSource takes it.
func ExampleSource() {
	w, err := newWatchdog()
	if err != nil {
		fmt.Println(err)
		return
	}
	var s source.Source = w
	_, reports := s.(source.Reporter)
	fmt.Println("reports:", reports)
	w.Late(stall.Span{Start: w.begun, End: w.begun.Add(25 * time.Millisecond)})
	b, err := s.Next(context.Background())
	fmt.Println(b.Intervals[0].Duration(), b.Intervals[0].Cause, b.Lost.Count, err)
	fmt.Println(s.Close())
	_, err = s.Next(context.Background())
	fmt.Println(err)
	// Output:
	// reports: true
	// 25ms host.unknown 0 <nil>
	// <nil>
	// EOF
}
