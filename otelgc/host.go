package otelgc

import (
	"errors"
	"io/fs"
	"sync/atomic"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

const (
	logIntervals = 8192
	logUnseen    = 1024
)

// hostSource is what the board says of the machine. Without a board, or with a
// dead writer, its part of the time is unseen and nobody waits for it.
type hostSource struct {
	board source.Source // nil if it is turned off
	*reader
	log    *stall.Log
	target targetWatch
	open   atomic.Bool
	report func(item, why string, n uint64)
	fail   func(error) // tells the operator, once per error
	said   string      // the error that was reported last
}

func newHostSource(paths []string, clock stall.Clock) *hostSource {
	h := &hostSource{
		log:    stall.NewLog(stall.NoOrigin, logIntervals, logUnseen),
		target: newTargetWatch(board.Here()),
	}
	if len(paths) > 0 {
		h.board = board.NewSource(board.SourceOptions{Paths: paths, Clock: clock})
	}
	h.log.Begin(clock.Now())
	return h
}

// alive reports whether the writer's watermark is younger than the deadline.
func (h *hostSource) alive(now stall.Instant) bool {
	return h.open.Load() && now.Sub(h.log.Watermark()) < timeline.Deadline
}

func (h *hostSource) take(b *source.Batch) {
	if !h.open.Swap(true) {
		h.said = ""
	}
	for i := range b.Intervals {
		if v := &b.Intervals[i]; board.Watched(v) {
			h.target.take(v)
		} else {
			h.log.Add(*v)
		}
	}
	for _, u := range b.Unseen {
		h.log.MarkUnseen(u)
		h.target.log.MarkUnseen(u)
	}
	if b.Lost.Count > 0 {
		h.report("gap", "board_overrun", b.Lost.Count)
	}
	h.log.Advance(h.target.hold(b.Watermark))
}

// failed tells the operator of err, once. That there is no board is the ordinary case,
// and one may come.
func (h *hostSource) failed(err error) bool {
	h.open.Store(false)
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, stall.ErrNotSupported) && err.Error() != h.said {
		h.said = err.Error()
		h.fail(err)
	}
	return true
}
