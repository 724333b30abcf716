// Package host has what the machine does to this process: the gaps on the board, and
// the kernel's counters.
package host

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

const (
	logIntervals = 8192
	logUnseen    = 1024
	// watchLag bounds how long windows wait for the watch of this process, which
	// writes to the board a little later than the probe does. One that is silent for
	// longer has ended, or lost sight.
	watchLag = time.Second
)

// Board is what the board says of the machine. Without a board, or with a dead
// writer, its part of the time is unseen and is not waited for.
type Board struct {
	Source source.Source // nil if it is turned off
	// Log has the gaps, and Watched the time in which a source that watches this
	// very process knows whether the machine left it alone.
	Log, Watched *stall.Log
	// Overrun is called with how many gaps were overwritten unread, and Fail with
	// each error, once.
	Overrun func(n uint64)
	Fail    func(error)

	place *stall.Place
	open  atomic.Bool
	said  string // the error that was reported last
}

// NewBoard returns what the first board of paths says from now on.
func NewBoard(paths []string, place *stall.Place, clock stall.Clock) *Board {
	b := &Board{
		Log:     stall.NewLog(stall.NoOrigin, logIntervals, logUnseen),
		Watched: stall.NewLog(stall.TargetWatch, 1, logUnseen),
		place:   place,
	}
	if len(paths) > 0 {
		b.Source = board.NewSource(board.SourceOptions{Paths: paths, Clock: clock})
	}
	b.Log.Begin(clock.Now())
	return b
}

// Open reports whether the board was read when it was looked at last.
func (b *Board) Open() bool { return b.open.Load() }

// Passed returns the instant up to which the board has everything, now if its writer is late
// by more than the deadline.
func (b *Board) Passed(now stall.Instant) stall.Instant {
	if at := b.Log.Watermark(); b.Open() && now.Sub(at) < timeline.Deadline {
		return at
	}
	return now
}

// Take takes in what is new on the board.
func (b *Board) Take(batch *source.Batch) {
	if !b.open.Swap(true) {
		b.said = ""
	}
	for i := range batch.Intervals {
		if v := &batch.Intervals[i]; board.Watched(v) {
			b.watch(v)
		} else {
			b.Log.Add(*v)
		}
	}
	for _, u := range batch.Unseen {
		b.Log.MarkUnseen(u)
		b.Watched.MarkUnseen(u)
	}
	if batch.Lost.Count > 0 {
		b.Overrun(batch.Lost.Count)
	}
	// A window waits for the watch, while that comes.
	at := batch.Watermark
	if seen := b.Watched.Watermark(); seen != 0 && at.Sub(seen) < watchLag {
		at = min(at, seen)
	}
	b.Log.Advance(at)
}

// watch takes in a record of watched time. They come in the order of time; what lies
// between two of them was not watched.
func (b *Board) watch(v *stall.Interval) {
	if v.Owner.PID == b.place.PID && v.Owner.Created == b.place.Created {
		b.Watched.Begin(v.Start)
		b.Watched.Advance(v.End)
	}
}

// Failed says that the board could not be read. That there is none is the ordinary
// case, and one may come: it reports true, to read on.
func (b *Board) Failed(err error) bool {
	b.open.Store(false)
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, stall.ErrNotSupported) && err.Error() != b.said {
		b.said = err.Error()
		b.Fail(err)
	}
	return true
}
