package jitterprobe

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// maxQueued bounds the gaps that wait for Next: 2 MiB. At 500 a second it is half a
// minute.
const maxQueued = 1 << 14

// queue holds what the drain goroutine has found and nobody has fetched. It is
// guarded by Probe.mu.
type queue struct {
	gaps      []Gap
	lost      source.Loss   // for which there was no room, here or in the ring
	watermark stall.Instant // up to which it was found
	ended     bool
	news      chan struct{} // has room for one
}

var (
	_ source.Source    = (*Probe)(nil)
	_ source.Explainer = (*Probe)(nil)
	_ source.Reporter  = (*Probe)(nil)
)

// Next waits until the probe has looked again, about every 100 ms. The intervals
// are those of [Probe.Gaps]. Gaps that nobody fetched in time are lost, and the time
// in which they were is unseen.
func (p *Probe) Next(ctx context.Context) (source.Batch, error) {
	select {
	case <-p.queue.news:
	case <-ctx.Done():
		return source.Batch{}, ctx.Err()
	}
	p.mu.Lock()
	q := &p.queue
	if q.ended {
		q.tell() // for the next call
		if p.over {
			p.mu.Unlock()
			return source.Batch{}, io.EOF
		}
		p.over = true
	}
	b := source.Batch{Watermark: q.watermark, Lost: q.lost}
	p.gaps, q.gaps, q.lost = q.gaps, p.gaps[:0], source.Loss{}
	p.seen = p.snap
	p.mu.Unlock()

	if b.Lost.Count > 0 {
		b.Unseen = append(b.Unseen, stall.Span{Start: p.fetched, End: b.Watermark})
	}
	p.fetched = b.Watermark
	p.intervals = p.intervals[:0]
	for i := range p.gaps {
		p.intervals = append(p.intervals, p.gaps[i].Interval)
	}
	b.Intervals = p.intervals
	return b, nil
}

// All yields every gap, in the order of their ends, until the probe has ended. It
// calls Next.
func (p *Probe) All() iter.Seq[Gap] {
	return func(yield func(Gap) bool) {
		for {
			if _, err := p.Next(context.Background()); err != nil {
				return // io.EOF
			}
			for _, g := range p.gaps {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// Gaps returns the gaps of the last batch, in the order of their ends. It belongs to
// the caller of Next, and is valid until the next call.
func (p *Probe) Gaps() []Gap { return p.gaps }

// Seen returns what the probe had seen at the last batch: all its gaps were in that
// batch or earlier ones. It belongs to the caller of Next.
func (p *Probe) Seen() Snapshot { return p.seen }

// Evidence returns what decided the cause of interval i of the last batch, empty if
// nothing did. It belongs to the caller of Next.
func (p *Probe) Evidence(i int) string { return p.gaps[i].Evidence.String() }

// Status says what the probe has watched since it began.
func (p *Probe) Status() source.Status {
	s := p.Snapshot()
	status := source.Status{
		Origin: p.mode.Source(), Observed: s.Observed(), Coverage: s.Covered(),
		Lost: source.Loss{Count: s.Dropped + s.Unread, Time: s.DroppedTime},
	}
	if p.cpu >= 0 {
		status.CPUs = []int{p.cpu}
	}
	return status
}

// Close stops the probe, as [Probe.Stop] does.
func (p *Probe) Close() error {
	p.Stop()
	return nil
}

// put queues what a drain has found, up to a watermark. The caller holds p.mu.
func (q *queue) put(gaps []Gap, dropped uint64, length time.Duration, s *Snapshot) {
	n := min(len(gaps), maxQueued-len(q.gaps))
	q.gaps = append(q.gaps, gaps[:n]...)
	q.lost.Count += dropped + uint64(len(gaps)-n)
	q.lost.Time += length
	for _, g := range gaps[n:] {
		q.lost.Time += g.Duration()
	}
	s.Unread += uint64(len(gaps) - n)
	q.watermark = s.Watermark
	q.tell()
}

func (q *queue) tell() {
	select {
	case q.news <- struct{}{}:
	default:
	}
}
