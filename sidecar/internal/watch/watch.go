// Package watch shows the gaps of one or more probes to the services of this host,
// on the board, and to whoever else asks for them.
package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// Options configure a Watch.
type Options struct {
	// Probe is the probe whose mode the board names.
	Probe *jitterprobe.Probe
	// Others are probes of other CPUs. A stretch that the gaps of all CPUs have in
	// common is reported once more, as a gap of the machine.
	Others []*jitterprobe.Probe
	// Boards are the paths where the board may be; none for no board.
	Boards []string
	// NeedBoard makes it an error if there can be no board, other than that
	// somebody else writes it.
	NeedBoard bool
	// Clock is the clock of the gaps.
	Clock stall.Clock
	// OnGap is called for each gap, one at a time. It must not block. It may be
	// nil.
	OnGap func(jitterprobe.Gap)
	// OnTick is called about four times a second, and never while OnGap is. Every
	// gap of s has been through OnGap; its watermark is one that all probes have
	// passed. Others holds what each of the other probes has seen, and is valid
	// until OnTick returns. It may be nil.
	OnTick func(s jitterprobe.Snapshot, others []jitterprobe.Snapshot)
}

// Watch reads probes, and writes the board.
type Watch struct {
	o         Options
	probes    []*jitterprobe.Probe // the first, and the others
	cpus      []int                // of the others
	allCPUs   bool                 // every CPU that is online has a probe
	board     *board.Writer
	boardNote string
	restore   func() error
	cancel    context.CancelFunc
	readers   sync.WaitGroup
	once      sync.Once
	summary   jitterprobe.Summary
	err       error
	unwritten atomic.Uint64

	mu          sync.Mutex             // one gap at a time
	seen        []jitterprobe.Snapshot // by probe
	machine     machine
	stopped     uint64 // gaps in which this process was stopped
	stoppedTime time.Duration
	ticked      stall.Instant
}

// tick is the time between two looks of services at the board. Every wake-up
// costs.
const tick = 250 * time.Millisecond

// Start begins to read the probes, which are the watch's from now on: it stops them
// if there is an error, too.
func Start(o Options) (*Watch, error) {
	w := &Watch{o: o, probes: append([]*jitterprobe.Probe{o.Probe}, o.Others...)}
	for _, p := range o.Others {
		w.cpus = append(w.cpus, p.CPU())
	}
	w.allCPUs = coversAll(append(w.pinned(), w.cpus...))
	w.seen = make([]jitterprobe.Snapshot, len(w.probes))
	w.machine = newMachine(o.Probe.Mode().Source(), len(w.probes))
	if err := w.openBoard(); err != nil {
		w.stopProbes()
		return nil, err
	}
	if o.Probe.CPU() >= 0 && o.Probe.Mode() == jitterprobe.Spin {
		// Without it the probe would see this very process. That there is no
		// other CPU to go to is in the probe's note.
		if restore, err := jitterprobe.Reserve(o.Probe.CPU()); err == nil {
			w.restore = restore
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	for i := range w.probes {
		w.readers.Go(func() { w.read(ctx, i) })
	}
	return w, nil
}

func (w *Watch) openBoard() error {
	if len(w.o.Boards) == 0 {
		w.boardNote = "off"
		return nil
	}
	b, err := board.Create(board.WriterOptions{
		Paths: w.o.Boards, Clock: w.o.Clock, Source: w.o.Probe.Mode().Source(), CPUs: append(w.pinned(), w.cpus...),
	})
	switch {
	case err == nil:
		w.board = b
	case errors.Is(err, board.ErrLocked) || !w.o.NeedBoard:
		w.boardNote = err.Error()
	default:
		return err
	}
	return nil
}

// pinned returns the CPU of the first probe, if it has one.
func (w *Watch) pinned() []int {
	if cpu := w.o.Probe.CPU(); cpu >= 0 {
		return []int{cpu}
	}
	return nil
}

const onlinePath = "/sys/devices/system/cpu/online"

// coversAll reports whether cpus are all that are online.
func coversAll(cpus []int) bool {
	text, err := os.ReadFile(onlinePath)
	if err != nil {
		return false
	}
	online, err := proc.ParseCPUs(string(text))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(online, func(cpu int) bool { return !slices.Contains(cpus, cpu) })
}

// read reads probe i until it has ended. It stops the probe when ctx is done.
func (w *Watch) read(ctx context.Context, i int) {
	p := w.probes[i]
	for {
		_, err := p.Next(ctx)
		switch {
		case ctx.Err() != nil && err != nil:
			ctx = context.Background()
			p.Stop()
		case err != nil:
			return // io.EOF
		default:
			w.take(i, p.Gaps(), p.Seen())
		}
	}
}

// take takes in gaps of probe i, and all that it has seen.
func (w *Watch) take(i int, gaps []jitterprobe.Gap, seen jitterprobe.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range gaps {
		if w.allCPUs {
			w.machine.add(i, g)
		}
		w.report(g)
	}
	w.seen[i] = seen
	if now := w.o.Clock.Now(); now.Sub(w.ticked) >= tick {
		w.ticked = now
		w.settle()
	}
}

// report writes g on the board. The caller holds w.mu.
func (w *Watch) report(g jitterprobe.Gap) {
	if w.board != nil && g.Cause.IsHost() {
		// A stop of this process says nothing to others, but that nobody
		// watched meanwhile; and one of its runtime not even that.
		if g.Scope == stall.ScopeProcess {
			w.stopped++
			w.stoppedTime += g.Duration()
		} else {
			w.append(g.Interval)
		}
	}
	if w.o.OnGap != nil {
		w.o.OnGap(g)
	}
}

// append writes on the board, if there is one. It may be called from any goroutine.
func (w *Watch) append(list ...stall.Interval) {
	if w.board == nil {
		return
	}
	for _, v := range list {
		if err := w.board.Append(v); err != nil {
			w.unwritten.Add(1)
		}
	}
}

// Watched writes on the board what the machine did to the threads of a process, and
// when that is known. It may be called from any goroutine, until Stop.
func (w *Watch) Watched(owner stall.Owner, o *hostwatch.Observations) {
	w.append(o.Denied...)
	// An empty span at the end: the process is watched, and nothing is known yet.
	for _, s := range append(slices.Clip(o.Covered), stall.Span{Start: o.Span.End, End: o.Span.End}) {
		w.append(stall.Interval{
			Start: s.Start, End: s.End, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: owner,
		})
	}
}

// settle moves the watermark to where all probes have been read. The caller holds
// w.mu.
func (w *Watch) settle() {
	first := w.seen[0]
	dropped, lost := w.stopped, w.stoppedTime
	for i := range w.seen {
		s := &w.seen[i]
		first.Watermark = min(first.Watermark, s.Watermark)
		dropped, lost = dropped+s.Dropped+s.Unread, lost+s.DroppedTime
	}
	if first.Watermark == 0 {
		return // one has not looked yet
	}
	w.machine.settle(first.Watermark, w.report)
	if w.board != nil {
		w.board.Advance(first.Watermark, dropped+w.unwritten.Load(), lost)
	}
	if w.o.OnTick != nil {
		w.o.OnTick(first, w.seen[1:])
	}
}

// Probe returns the first probe.
func (w *Watch) Probe() *jitterprobe.Probe { return w.o.Probe }

// Others returns the CPUs of the other probes, and whether every CPU has a probe:
// without, no gap is called the machine's.
func (w *Watch) Others() (cpus []int, all bool) { return w.cpus, w.allCPUs }

// Board returns where the board is on which the gaps are shown. Without one the
// path is empty, and the note says why.
func (w *Watch) Board() (path, note string) {
	if w.board == nil {
		return "", w.boardNote
	}
	return w.board.Path(), ""
}

// Unwritten returns how many gaps could not be written to the board.
func (w *Watch) Unwritten() uint64 { return w.unwritten.Load() }

// Stop stops the probes, takes the board away and returns what the first probe has
// seen. Stopping again returns the same.
func (w *Watch) Stop() (jitterprobe.Summary, error) {
	w.once.Do(func() {
		w.cancel()
		w.readers.Wait()
		w.summary = w.stopProbes()
		w.mu.Lock()
		w.settle()
		w.mu.Unlock()
		if w.restore != nil {
			if err := w.restore(); err != nil {
				w.err = fmt.Errorf("give the probe's CPU back: %w", err)
			}
		}
		if w.board != nil {
			w.err = errors.Join(w.err, w.board.Close())
		}
	})
	return w.summary, w.err
}

// stopProbes stops all probes, and returns what the first has seen.
func (w *Watch) stopProbes() jitterprobe.Summary {
	for _, p := range w.o.Others {
		p.Stop()
	}
	return w.o.Probe.Stop()
}
