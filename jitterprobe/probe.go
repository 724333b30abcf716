package jitterprobe

import (
	"context"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

const (
	// drainEvery is the time between two drains: short enough that a gap is known
	// soon and interpolation is exact, long enough to cost next to nothing. Each
	// wakes the Go runtime, which costs more than ten gaps do.
	drainEvery = 100 * time.Millisecond
	// sumsEvery is that of a probe that has only sums to tell its gaps apart by:
	// the fewer gaps a sum is of, the more it says.
	sumsEvery = 50 * time.Millisecond
	// beginPatience is how long Start waits for the first look, from which on the
	// probe sees all: a busy CPU takes milliseconds.
	beginPatience = 5 * time.Second
)

// Probe is a running probe, and a [source.Source]. Next, All, Gaps, Seen and Evidence belong to
// one goroutine; its other methods may be called from any.
type Probe struct {
	classifier *classifier
	loop       *loop

	quit chan struct{}
	done chan struct{}
	once sync.Once

	batch []Gap // of one drain; the drain goroutine's own

	// Of the caller of Next:
	gaps      []Gap // of the last batch
	intervals []stall.Interval
	seen      Snapshot
	fetched   stall.Instant // watermark of the last batch
	over      bool          // the last batch was that of the end

	mu    sync.Mutex
	sum   Summary // mode, CPU and obstacle never change
	queue queue
}

// Start starts a probe. The errors are of the options: a CPU that may not be
// used ([ErrCPU]), a value out of bounds. That a mode cannot run here is no
// error, see [Probe.Note].
func Start(o Options) (*Probe, error) { return startBelow("/", o) }

// startBelow reads /proc and /sys below root.
func startBelow(root string, o Options) (*Probe, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	sum, err := choose(root, o)
	if err != nil {
		return nil, err
	}
	l, err := sum.startLoop(o)
	if err != nil {
		return nil, err
	}
	p := &Probe{
		classifier: newClassifier(root, candidate{sum.Mode, sum.CPU, l.tid}, o),
		loop:       l,
		quit:       make(chan struct{}),
		done:       make(chan struct{}),
		sum:        sum,
		queue:      queue{news: make(chan struct{}, 1)},
	}
	l.begin()
	l.await(beginPatience)
	go p.run()
	return p, nil
}

// Mode returns the mode that runs, never Auto.
func (p *Probe) Mode() Mode { return p.sum.Mode }

// CPU returns the logical number of the CPU that the probe is pinned to, -1 if
// it is not pinned.
func (p *Probe) CPU() int { return p.sum.CPU }

// Obstacle returns what kept the probe from spinning as it was asked to, nil if nothing
// did. It is [ErrQuota] if it would have used up a cgroup's quota.
func (p *Probe) Obstacle() error { return p.sum.obstacle }

// Note says in a few words why the probe does not run as it was asked to, such
// as "one CPU: periodic". Empty if it does.
func (p *Probe) Note() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sum.Note
}

// Limits says which causes the probe cannot decide here, and why.
func (p *Probe) Limits() []Limit { return slices.Clone(p.classifier.limits) }

// Snapshot returns what the probe had seen at its last drain, at most about
// 100 ms ago.
func (p *Probe) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sum.Snapshot
}

// Stop stops the probe and returns all that it has seen. When it returns no
// goroutine or thread of the probe is left. Stopping again returns the same.
func (p *Probe) Stop() Summary {
	p.once.Do(func() { close(p.quit) })
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sum
}

func (p *Probe) run() {
	defer close(p.done)
	defer p.classifier.close()
	ticker := time.NewTicker(p.classifier.every())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.drain()
		case <-p.quit:
			halted := p.loop.halt()
			p.drain()
			if halted {
				p.loop.release()
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if !halted {
				p.sum.Note = "the probe's thread did not get its CPU to stop on: its memory is left mapped"
			}
			p.queue.ended = true
			p.queue.notify()
			return
		}
	}
}

// drain brings the snapshot and the queue up to date.
func (p *Probe) drain() {
	snap := p.Snapshot()
	p.classifier.begin(p.loop)
	p.batch = p.loop.collect(&snap, p.batch[:0])
	p.classifier.classify(p.batch, batch{snap.Watermark, p.loop.late, p.loop.looks, snap.Dropped})
	for _, g := range p.batch {
		snap.keep(g, p.sum.Mode == Periodic && !g.Runtime)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	was := &p.sum.Snapshot
	p.queue.put(p.batch, snap.Dropped-was.Dropped, snap.DroppedTime-was.DroppedTime, &snap)
	p.sum.Snapshot = snap
}

// maxQueued bounds the gaps that wait for Next: 2 MiB. At 500 a second it is half a
// minute.
const maxQueued = 1 << 14

// queue holds what the drain goroutine has found and Next has not returned. It is
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
	_ source.Flusher   = (*Probe)(nil)
	_ source.Reporter  = (*Probe)(nil)
)

// Next waits until the probe has looked again, about every 100 ms. The intervals
// are those of [Probe.Gaps]. Gaps that were not fetched in time are lost, and the time
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
		q.notify() // for the next call
		if p.over {
			p.mu.Unlock()
			return source.Batch{}, io.EOF
		}
		p.over = true
	}
	b := source.Batch{Watermark: q.watermark, Lost: q.lost}
	p.gaps, q.gaps, q.lost = q.gaps, p.gaps[:0], source.Loss{}
	p.seen = p.sum.Snapshot
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
		Origin: p.sum.Mode.Source(), Observed: s.Observed(), Coverage: s.Covered(),
		Lost: source.Loss{Count: s.Dropped + s.Unread, Time: s.DroppedTime},
	}
	if p.sum.CPU >= 0 {
		status.CPUs = []int{p.sum.CPU}
	}
	return status
}

// Flush has the next call of Next return what the last look found, without waiting for
// another one.
func (p *Probe) Flush() { p.queue.notify() }

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
	q.notify()
}

func (q *queue) notify() {
	select {
	case q.news <- struct{}{}:
	default:
	}
}
