package jitterprobe

import (
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
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
	mode   Mode
	cpu    int
	period time.Duration // of Periodic, else 0
	judge  *judge
	engine engine

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

	mu     sync.Mutex
	reason Reason
	note   string
	snap   Snapshot
	queue  queue
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
	plan, err := choose(root, o)
	if err != nil {
		return nil, err
	}
	p := &Probe{
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
		snap:  newSnapshot(),
		queue: queue{news: make(chan struct{}, 1)},
	}
	e, err := plan.start(o)
	if err != nil {
		return nil, err
	}
	p.mode, p.cpu, p.reason, p.note = plan.mode, plan.cpu, plan.reason, plan.note
	p.judge = newJudge(root, suspect{p.mode, p.cpu, e.thread()}, o)
	if p.mode == Periodic {
		p.period = o.Period
	}
	p.engine = e
	e.begin()
	e.feed().await(beginPatience)
	go p.run()
	return p, nil
}

// Mode returns the mode that runs, never Auto.
func (p *Probe) Mode() Mode { return p.mode }

// CPU returns the logical number of the CPU that the probe is pinned to, -1 if
// it is not pinned.
func (p *Probe) CPU() int { return p.cpu }

// Reason says why the probe does not run as it was asked to, NoReason if it
// does.
func (p *Probe) Reason() Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// Note says in a few words why the probe does not run as it was asked to, such
// as "one CPU: periodic". Empty if it does.
func (p *Probe) Note() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.note
}

// Limits says which causes the probe cannot decide here, and why.
func (p *Probe) Limits() []Limit { return slices.Clone(p.judge.limits) }

// Snapshot returns what the probe had seen at its last drain, at most about
// 100 ms ago.
func (p *Probe) Snapshot() Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snap
}

// Stop stops the probe and returns all that it has seen. When it returns no
// goroutine or thread of the probe is left. Stopping again returns the same.
func (p *Probe) Stop() Summary {
	p.once.Do(func() { close(p.quit) })
	<-p.done
	return Summary{Snapshot: p.Snapshot(), Mode: p.mode, CPU: p.cpu, Reason: p.Reason(), Note: p.Note()}
}

func (p *Probe) run() {
	e := p.engine
	defer close(p.done)
	defer p.judge.close()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue.ended = true
		p.queue.tell()
	}()
	ticker := time.NewTicker(p.judge.every())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.drain(e.feed())
		case <-p.quit:
			halted := e.halt()
			p.drain(e.feed())
			if halted {
				e.release()
				return
			}
			p.mu.Lock()
			p.reason, p.note = StuckThread, "the probe's thread did not get its CPU to stop on: its memory is left mapped"
			p.mu.Unlock()
			return
		}
	}
}

// drain brings the snapshot and the queue up to date.
func (p *Probe) drain(f *feed) {
	p.batch = p.batch[:0]
	snap := p.Snapshot()
	p.judge.begin(f)
	f.collect(&snap, func(s sighting) {
		p.batch = append(p.batch, p.gap(s))
	})
	p.judge.settle(p.batch, batch{snap.Watermark, f.late, f.looks, snap.Dropped})
	for _, g := range p.batch {
		period := p.period
		if g.Runtime {
			period = 0
		}
		snap.keep(g, period)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.put(p.batch, snap.Dropped-p.snap.Dropped, snap.DroppedTime-p.snap.DroppedTime, &snap)
	p.snap = snap
}

// gap gives s the cause that needs no evidence.
func (p *Probe) gap(s sighting) Gap {
	g := Gap{Runtime: s.runtime, Interval: stall.Interval{
		Start: s.start, End: s.end, Slack: s.slack,
		Cause: stall.HostUnknown, Scope: stall.ScopeCPU,
		Origin: p.mode.Source(), CPU: int32(p.cpu),
	}}
	if s.runtime {
		g.Cause, g.Scope = stall.RuntimeUnknown, stall.ScopeProcess
		g.Evidence = Evidence{Witness: RuntimeDoor, Time: g.Duration()}
	}
	return g
}
