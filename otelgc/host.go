package otelgc

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/stall"
)

const (
	boardEvery = 250 * time.Millisecond
	boardRetry = 5 * time.Second
)

// hostSource is what the board says of the machine. Without a board, or with a
// dead writer, its part of the time is unseen and nobody waits for it.
type hostSource struct {
	paths  []string // where the board may be; none turns it off
	clock  stall.Clock
	log    *stall.Log
	target targetWatch
	report func(item, why string, n uint64)

	reader *board.Reader
	next   stall.Instant // of the next try
	gaps   []stall.Interval
	seen   stall.Instant
	known  stall.Instant // what ended before was read of this board before it was lost
	said   string        // the error that was reported last
	fail   func(error)   // tells the operator, once per error
	open   atomic.Bool
}

func newHostSource(paths []string, clock stall.Clock) *hostSource {
	h := &hostSource{paths: paths, clock: clock, log: stall.NewLog(stall.NoOrigin, logIntervals, logUnseen), target: newTargetWatch(board.Here())}
	now := clock.Now()
	h.log.Begin(now)
	h.seen = now
	return h
}

// alive reports whether the writer's watermark is younger than the deadline.
func (h *hostSource) alive(now stall.Instant) bool {
	return h.open.Load() && now.Sub(h.log.Watermark()) < sourceDeadline
}

// poll takes in what is new on the board.
func (h *hostSource) poll(now stall.Instant) {
	if len(h.paths) == 0 || now < h.next {
		return
	}
	h.next = now.Add(boardEvery)
	if h.reader == nil && !h.tryOpen(now) {
		return
	}
	var s board.Status
	var err error
	h.gaps, s, err = h.reader.Read(h.gaps[:0])
	if err != nil {
		h.lose(err, now)
		return
	}
	for i := range h.gaps {
		switch v := &h.gaps[i]; {
		case v.End <= h.known:
		case board.Watched(v):
			h.target.take(v)
		default:
			h.log.Add(*v)
		}
	}
	h.unseen(&s)
	h.log.Advance(h.target.hold(s.Watermark))
	h.say(s.Next)
}

// unseen marks what the board does not hold.
func (h *hostSource) unseen(s *board.Status) {
	if s.Since > h.seen {
		h.log.MarkUnseen(stall.Span{Start: h.seen, End: s.Since})
	}
	for _, u := range s.Unseen {
		h.log.MarkUnseen(u)
		h.target.log.MarkUnseen(u)
	}
	if s.Lost > 0 {
		h.report("gap", "board_overrun", s.Lost)
	}
	h.seen = max(h.seen, s.Watermark)
}

func (h *hostSource) tryOpen(now stall.Instant) bool {
	r, err := board.Open(h.paths...)
	if err != nil {
		h.lose(err, now)
		return false
	}
	h.reader, h.said, h.known = r, "", h.seen
	h.open.Store(true)
	return true
}

// lose closes the board and tries again later. That there is no board is the
// ordinary case; anything else is said, once.
func (h *hostSource) lose(err error, now stall.Instant) {
	h.close()
	h.next = now.Add(boardRetry)
	h.say(err)
}

// say tells the operator of err, once.
func (h *hostSource) say(err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, stall.ErrNotSupported) || err.Error() == h.said {
		return
	}
	h.said = err.Error()
	h.fail(err)
}

func (h *hostSource) close() {
	h.open.Store(false)
	if h.reader != nil {
		_ = h.reader.Close() // read only
		h.reader = nil
	}
}
