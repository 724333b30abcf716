// Package watch runs a probe, and others beside it, and shows their gaps to the
// services of this host on the board. It makes no probe itself ([Options.Start]),
// and does not know who is told beside the board. The file is that of package
// internal/board.
package watch

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// Options configure a Watch.
type Options struct {
	// Start starts the probe with the OnGap it is given, which waits until the
	// watch is there. So who does not want a probe that it has started returns it
	// with the error, and does not stop it.
	Start func(onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error)
	// Beside are CPUs that have a probe of their own: a stretch that the gaps of
	// all CPUs have in common is told once more, as a gap of the machine. Of two
	// probes on one CPU the second is left out.
	Beside []int
	// StartBeside starts the probe of one of them.
	StartBeside func(cpu int, onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error)
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
	// OnTick is called four times a second, on one goroutine, with a snapshot of
	// which every gap has been through OnGap. It may be nil.
	OnTick func(jitterprobe.Snapshot)
	// OnBeside is called before OnTick with what the probes beside have seen, all
	// together and each, in the order of Watch.Beside. It may be nil, and must not
	// keep its arguments.
	OnBeside func(together jitterprobe.Snapshot, each []jitterprobe.Snapshot)
}

// Watch is a running probe with its board.
type Watch struct {
	probe       *jitterprobe.Probe
	board       *board.Writer
	boardNote   string
	onGap       func(jitterprobe.Gap)
	onTick      func(jitterprobe.Snapshot)
	onBeside    func(jitterprobe.Snapshot, []jitterprobe.Snapshot)
	restore     func() error
	mu          sync.Mutex // one gap at a time
	beside      beside
	stopped     uint64 // gaps in which this process was stopped
	stoppedTime time.Duration
	told        atomic.Uint64 // gaps of the first probe that were through OnGap
	unwritten   atomic.Uint64
	quit        chan struct{}
	done        chan struct{}
	once        sync.Once
	summary     jitterprobe.Summary
	err         error
}

// tick is the time between two looks at the probe. Services read the board as
// often, and every wake-up costs.
const tick = 250 * time.Millisecond

// Start starts the probe and the board.
func Start(o Options) (*Watch, error) {
	w := &Watch{onGap: o.OnGap, onTick: o.OnTick, onBeside: o.OnBeside, quit: make(chan struct{}), done: make(chan struct{})}
	ready := make(chan struct{}) // the board is made after the probe, whose mode it names
	p, err := o.Start(func(g jitterprobe.Gap) {
		if <-ready; w.probe == nil {
			return // it was not wanted
		}
		w.gap(0, g)
		w.told.Add(1)
	})
	if err != nil {
		close(ready)
		if p != nil {
			p.Stop()
		}
		return nil, err
	}
	w.probe = p
	err = w.startBeside(o, ready)
	if err == nil {
		err = w.openBoard(o)
	}
	if err != nil {
		close(ready)
		w.stopProbes()
		return nil, err
	}
	if p.CPU() >= 0 && p.Mode() == jitterprobe.Spin {
		// Without it the probe would see this very process. That there is no
		// other CPU to go to is in the probe's note.
		if restore, err := jitterprobe.Reserve(p.CPU()); err == nil {
			w.restore = restore
		}
	}
	close(ready)
	go w.run()
	return w, nil
}

func (w *Watch) openBoard(o Options) error {
	if len(o.Boards) == 0 {
		w.boardNote = "off"
		return nil
	}
	cpus := append(w.pinned(), w.beside.cpus...)
	b, err := board.Create(board.WriterOptions{Paths: o.Boards, Clock: o.Clock, Source: w.probe.Mode().Source(), CPUs: cpus})
	switch {
	case err == nil:
		w.board = b
	case errors.Is(err, board.ErrLocked) || !o.NeedBoard:
		w.boardNote = err.Error()
	default:
		return err
	}
	return nil
}

func (w *Watch) run() {
	defer close(w.done)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-w.quit:
			w.summary = w.stopProbes()
			w.settle(w.summary.Snapshot)
			return
		case <-ticker.C:
			w.settle(w.probe.Snapshot())
		}
	}
}

// Probe returns the probe.
func (w *Watch) Probe() *jitterprobe.Probe { return w.probe }

// Beside returns the CPUs of the probes beside, and whether every CPU has a
// probe: without, no gap is called the machine's.
func (w *Watch) Beside() (cpus []int, all bool) { return w.beside.cpus, w.beside.all }

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

// Stop stops the probes, takes the board away and returns all that was seen.
// Stopping again returns the same.
func (w *Watch) Stop() (jitterprobe.Summary, error) {
	w.once.Do(func() {
		close(w.quit)
		<-w.done
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
