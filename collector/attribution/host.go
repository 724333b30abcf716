package attribution

import (
	"container/list"
	"math"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// host is what is known of one boot of one machine.
type host struct {
	boot   string        // and the host id, of a copy: its epoch
	wall   *wall         // never nil, and never changed: who joins may hold it
	probes []probe       // likewise
	now    stall.Instant // the latest that any source told
	ahead  stall.Instant // start of the last stall that was told before that

	processes list.List          // of *process, the one heard last in front
	targets   map[int32]*process // by the pid that the sidecar sees
	strange   int                // statuses in a row that were far away
	hasty     int                // that were ahead, not long after each other
	hastyAt   time.Duration      // the last of them, by registry.clock
	behind    int                // that were behind while nobody told the time
	toldAt    time.Duration      // the last that did, by registry.clock
	since     time.Duration      // it was heard, by registry.clock
	heard     time.Duration      // the last time, likewise
	place     *list.Element      // in registry.recent
	counter   counter            // of registry.changes
	witness   witness            // of its clock
}

func newHost(boot string) *host {
	h := &host{boot: boot, wall: new(wall), targets: make(map[int32]*process)}
	h.processes.Init()
	return h
}

// expect notes the stalls of a host whose time nobody has told yet.
func (h *host) expect(stalls []stall.Interval) {
	if h.now > 0 {
		return
	}
	for i := range stalls {
		h.ahead = max(h.ahead, stalls[i].Start)
	}
}

const (
	// silentAfter is how long a source may say nothing before nobody waits for
	// it: its part of a span is unseen then, as in process.
	silentAfter = stall.Instant(3e9)
	// farAway is how far a status may be from what its host's time should be.
	farAway = stall.Instant(3600e9)
	// believeAfter is how many of them in a row show that it is the host's time
	// that is wrong, or has gone on.
	believeAfter = 16
)

// horizon returns the latest instant that may be told of the host: its time goes
// on also while nobody tells.
func (h *host) horizon(clock time.Duration) stall.Instant {
	return h.now + farAway + stall.Instant(clock-h.toldAt)
}

// told takes in the clock of a status. It reports false if that cannot be: one
// of the future would silence the host for ever. If wrong is then true it is what
// was told before that cannot be, and the host has to be forgotten. Near is how far
// apart sources may be: beyond it one is silent for the other.
func (h *host) told(s *status, clock time.Duration, near stall.Instant) (ok, wrong bool) {
	elapsed := stall.Instant(clock - h.toldAt)
	switch {
	case h.now == 0 && h.ahead > s.at+farAway:
		return false, true // its stalls would stay for ever
	case h.now == 0:
	case s.at+farAway < h.now || s.at > h.horizon(clock):
		h.strange++
		return false, h.strange >= believeAfter
	case s.at > h.now+elapsed+near:
		// Others that lag behind are no reason to believe it never.
		if clock-h.hastyAt > time.Duration(silentAfter) {
			h.hasty = 0
		}
		h.hastyAt = clock
		if h.hasty++; h.hasty < believeAfter {
			return false, false
		}
		h.hasty = 0
	case s.at+near < h.now:
		h.strange = 0
		if elapsed > silentAfter {
			h.behind++
		}
		return h.behind < believeAfter, h.behind >= believeAfter
	}
	h.strange, h.behind, h.toldAt = 0, 0, clock
	h.now = max(h.now, s.at)
	h.wall = h.wall.learn(s)
	return true, false
}

// began returns when the boot began by the wall clock of now, Unix ns; of a host
// that has told no time long ago.
func (h *host) began() int64 {
	if h.wall.n == 0 {
		return math.MinInt64
	}
	return int64(h.wall.latest().offset)
}

// over reports whether h is an earlier boot of the machine of which one began at
// boot: it was last heard before. That is never so of its own.
func (h *host) over(boot int64) bool { return h.wall.n > 0 && h.wall.latest().wallAt() <= boot }
