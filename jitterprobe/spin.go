package jitterprobe

import (
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/rawspin"
	"github.com/otelgc/otelgc/jitterprobe/internal/tick"
	"github.com/otelgc/otelgc/stall"
)

// haltPatience is how long Stop waits for a thread that does not get its CPU.
const haltPatience = 5 * time.Second

// firstAnchors is the time between the first two anchors. It sets how well the
// threshold is known in ticks, 10 ppm, and nothing else.
const firstAnchors = 5 * time.Millisecond

// spinEngine runs the loop on a raw thread.
type spinEngine struct {
	raw    *rawspin.Thread
	source *feed
}

func startSpin(cpu int, o Options) (*spinEngine, error) {
	timeline := newTimeline(o.Clock)
	thread, err := rawspin.Start(cpu, thresholdTicks(o.Threshold, timeline), o.Ring)
	if err != nil {
		return nil, err
	}
	return &spinEngine{thread, &feed{
		ring: thread.Ring, timeline: timeline, clock: o.Clock, blockLen: rawspin.BlockLen,
	}}, nil
}

func (e *spinEngine) feed() *feed { return e.source }

func (e *spinEngine) thread() int { return e.raw.ID() }

func (e *spinEngine) begin() { e.raw.Begin() }

func (e *spinEngine) halt() bool { return e.raw.Halt(haltPatience) }

func (e *spinEngine) release() { _ = e.raw.Release() } // nothing to be done about a failed munmap

// newTimeline returns a timeline that already knows the rate of the counter.
func newTimeline(clock stall.Clock) *tick.Timeline {
	t := tick.NewTimeline(clock)
	t.Add(tick.TakeAnchor(clock))
	time.Sleep(firstAnchors)
	t.Add(tick.TakeAnchor(clock))
	return t
}

func thresholdTicks(d time.Duration, t *tick.Timeline) uint64 {
	return max(1, uint64(float64(d)/t.NanosPerTick()))
}
