package attribution

import (
	"strings"
	"time"
)

// A machine that was copied while it ran, as from a snapshot, has the boot id of its
// copies, and a clock of its own. It shows when sources with host ids that differ go
// on telling wall clocks that do. From then on the machines of that boot id are told
// apart by their host id.
//
// The host id alone is no reason: in a container it may be that of the image, and its
// process has the clock of the machine all the same.

const (
	// copyMark is between the boot id and the host id of a copy.
	copyMark = "\x00"
	// clocksApart is by how much the clocks of two machines differ at least: one
	// was not running for so long.
	clocksApart = time.Second
	// mostCopied bounds how many boot ids are known to be shared.
	mostCopied = 256
)

// witness is a source that told of the clock of its host for a while.
type witness struct {
	hostID string
	offset time.Duration
	heard  time.Duration // by registry.clock
}

// epoch returns what names the clock of id: its boot id, and if several machines
// share that their host id.
func (r *registry) epoch(id *identity) string {
	if !r.copied[id.boot] {
		return id.boot
	}
	return id.boot + copyMark + id.hostID
}

// bootOf returns the boot id of an epoch.
func bootOf(epoch string) string {
	boot, _, _ := strings.Cut(epoch, copyMark)
	return boot
}

// relate counts the statuses in a row that relate the wall clock alike.
func (l *sourceLog) relate(offset time.Duration) {
	if (offset - l.offset).Abs() > clocksApart {
		l.steady = 0
	}
	l.offset = offset
	l.steady++
}

// disputes reports whether a source of h has another clock than one that is heard as
// well and says that it is of another machine. A clock that is set is another for
// all of them, after a moment.
func (h *host) disputes(of *identity, l *sourceLog, clock time.Duration) bool {
	if of.hostID == "" || l.steady < believeAfter {
		return false
	}
	w := &h.witness
	if differ(w.hostID, of.hostID) && clock-w.heard <= time.Duration(silentAfter) && (w.offset-l.offset).Abs() > clocksApart {
		return true
	}
	*w = witness{of.hostID, l.offset, clock}
	return false
}

// split has the machines of a host told apart from now on.
func (r *registry) split(h *host) {
	if len(r.copied) >= mostCopied || strings.Contains(h.boot, copyMark) {
		return
	}
	r.copied[h.boot] = true
	r.forgetHost(h)
	r.lost.hostsForgotten++
}
