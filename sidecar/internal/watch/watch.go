// Package watch reads the probes of this machine as one source, and writes their gaps
// on the board for the services of this host.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/otelgc/otelgc/stall/source"
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
	// NeedBoard makes it an error if there can be no board, unless another process
	// writes it.
	NeedBoard bool
	// Clock is the clock of the gaps.
	Clock stall.Clock
}

// Watch is a [source.Source] of several probes. Next, Gaps and Seen belong to one
// goroutine; its other methods may be called from any.
type Watch struct {
	o         Options
	probes    []*jitterprobe.Probe // the first, and the others
	allCPUs   bool                 // every CPU that is online has a probe
	board     *board.Writer        // nil for none
	boardNote string
	close     func() error
	unwritten atomic.Uint64

	// Of the caller of Next:
	gaps      []jitterprobe.Gap // of the last batch
	intervals []stall.Interval
	marks     []stall.Instant // how far each probe has seen
	machine   machine
	lost      source.Loss // since the start, for the readers of the board
	ticked    stall.Instant
	over      bool
}

var _ source.Source = (*Watch)(nil)

// tick is the time between two looks of services at the board. Every wake-up
// costs.
const tick = 250 * time.Millisecond

// Start returns a watch of the probes, which it closes. It closes them if there is
// an error, too.
func Start(o Options) (*Watch, error) {
	w := &Watch{o: o, probes: append([]*jitterprobe.Probe{o.Probe}, o.Others...)}
	w.marks = make([]stall.Instant, len(w.probes))
	w.machine = newMachine(o.Probe.Mode().Source(), len(w.probes))
	w.close = sync.OnceValue(w.closeProbes)
	cpus := CPUs(w.probes...)
	w.allCPUs = coversAll(cpus)
	if err := w.openBoard(cpus); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if o.Probe.CPU() >= 0 && o.Probe.Mode() == jitterprobe.Spin {
		// Otherwise the probe would see this process. If there is no other CPU to go
		// to, the note of the probe says so.
		if restore, err := jitterprobe.Reserve(o.Probe.CPU()); err == nil {
			w.close = sync.OnceValue(func() error {
				err := w.closeProbes()
				if failed := restore(); failed != nil {
					err = errors.Join(err, fmt.Errorf("give the probe's CPU back: %w", failed))
				}
				return err
			})
		}
	}
	return w, nil
}

func (w *Watch) openBoard(cpus []int) (err error) {
	if len(w.o.Boards) == 0 {
		w.boardNote = "off"
		return nil
	}
	w.board, err = board.Create(board.WriterOptions{Paths: w.o.Boards, Clock: w.o.Clock, Source: w.o.Probe.Mode().Source(), CPUs: cpus})
	if err != nil && (errors.Is(err, board.ErrLocked) || !w.o.NeedBoard) {
		w.boardNote, err = err.Error(), nil
	}
	return err
}

// CPUs returns the CPUs of those probes that are pinned.
func CPUs(probes ...*jitterprobe.Probe) (cpus []int) {
	for _, p := range probes {
		if cpu := p.CPU(); cpu >= 0 {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
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

// Next waits until the probes have looked again, about four times a second, and
// writes what they saw on the board. The intervals are those of [Watch.Gaps]. After
// the last batch the board is removed.
func (w *Watch) Next(ctx context.Context) (b source.Batch, err error) {
	if w.over {
		if w.board != nil {
			err = w.board.Close()
		}
		return b, cmp.Or(err, io.EOF)
	}
	w.gaps = w.gaps[:0]
	reads := 0
	for ; reads == 0 || w.o.Clock.Now().Sub(w.ticked) < tick; reads++ {
		if err = w.read(ctx, &b); err != nil {
			break
		}
	}
	if w.over = err == io.EOF; reads == 0 && !w.over {
		return b, err
	}
	w.ticked = w.o.Clock.Now()
	if b.Watermark = slices.Min(w.marks); b.Watermark != 0 { // all have looked
		for _, g := range w.machine.settle(b.Watermark) {
			w.add(g)
		}
		if w.board != nil {
			w.board.Advance(b.Watermark, w.lost.Count+w.unwritten.Load(), w.lost.Time)
		}
	}
	w.intervals = w.intervals[:0]
	for i := range w.gaps {
		w.intervals = append(w.intervals, w.gaps[i].Interval)
	}
	b.Intervals = w.intervals
	return b, nil
}

// read reads what the probes have seen since the last call. It waits for the first
// one only. The error is io.EOF when all have ended.
func (w *Watch) read(ctx context.Context, b *source.Batch) error {
	for i, p := range w.probes {
		if i > 0 {
			p.Flush()
			ctx = context.Background()
		}
		part, err := p.Next(ctx)
		switch {
		case i == 0 && err != nil:
			return err
		case err != nil:
			continue // io.EOF
		}
		for _, g := range p.Gaps() {
			if w.allCPUs {
				w.machine.add(i, g)
			}
			w.add(g)
		}
		w.marks[i] = part.Watermark
		b.Unseen = append(b.Unseen, part.Unseen...)
		for _, l := range []*source.Loss{&b.Lost, &w.lost} {
			l.Count += part.Lost.Count
			l.Time += part.Lost.Time
		}
	}
	return nil
}

// add puts g into the batch, and on the board if it is of the machine.
func (w *Watch) add(g jitterprobe.Gap) {
	w.gaps = append(w.gaps, g)
	switch {
	case !g.Cause.IsHost():
	case g.Scope == stall.ScopeProcess:
		// Only this process was stopped: to others it is time without a watch.
		w.lost.Count++
		w.lost.Time += g.Duration()
	default:
		w.write(g.Interval)
	}
}

// write writes on the board, if there is one.
func (w *Watch) write(list ...stall.Interval) {
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
// when that is known.
func (w *Watch) Watched(owner stall.Owner, o *hostwatch.Observations) {
	w.write(o.Denied...)
	// An empty span at the end: the process is watched, and nothing is known yet.
	for _, s := range append(slices.Clip(o.Covered), stall.Span{Start: o.Span.End, End: o.Span.End}) {
		w.write(stall.Interval{
			Start: s.Start, End: s.End, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: owner,
		})
	}
}

// Gaps returns the gaps of the last batch. They are valid until the next call of Next.
func (w *Watch) Gaps() []jitterprobe.Gap { return w.gaps }

// Seen is what the probes of one mode have seen.
type Seen struct {
	Origin stall.Origin
	CPUs   []int
	jitterprobe.Snapshot
}

// Seen returns what the probes had seen at the last batch, by mode, that of the first
// probe first. Its watermark is one that all probes have passed.
func (w *Watch) Seen() (all []Seen) {
	for i, p := range w.probes {
		s, origin := p.Seen(), p.Mode().Source()
		if i == 0 {
			s.Watermark = slices.Min(w.marks)
		}
		k := slices.IndexFunc(all, func(have Seen) bool { return have.Origin == origin })
		if k < 0 {
			all = append(all, Seen{origin, CPUs(p), s})
			continue
		}
		all[k].CPUs = append(all[k].CPUs, CPUs(p)...)
		all[k].Merge(&s)
	}
	return all
}

// Probes returns all probes, the first one first.
func (w *Watch) Probes() []*jitterprobe.Probe { return w.probes }

// AllCPUs reports whether every CPU has a probe: otherwise no gap is called the
// machine's.
func (w *Watch) AllCPUs() bool { return w.allCPUs }

// Board returns the path of the board. Without a board it is empty, and note says
// why.
func (w *Watch) Board() (path, note string) {
	if w.board == nil {
		return "", w.boardNote
	}
	return w.board.Path(), ""
}

// Unwritten returns how many gaps could not be written to the board.
func (w *Watch) Unwritten() uint64 { return w.unwritten.Load() }

// Close stops the probes. Next returns what is left, and then io.EOF.
func (w *Watch) Close() error { return w.close() }

// closeProbes stops the first probe last: when Next has read all of it, the others
// have ended, too.
func (w *Watch) closeProbes() (err error) {
	for _, p := range slices.Backward(w.probes) {
		err = errors.Join(err, p.Close())
	}
	return err
}
