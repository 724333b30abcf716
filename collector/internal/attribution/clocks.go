package attribution

import (
	"strings"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

const (
	// silentAfter is how long a source may say nothing before it is not waited
	// for: its part of a span is unseen then, as in process.
	silentAfter = stall.Instant(3e9)
	// farAway is how far a status may be from what its sender's time should be.
	farAway = stall.Instant(3600e9)
	// believeAfter is how many such statuses in a row are believed: then the time that
	// was known before was wrong, or has gone on.
	believeAfter = 16
)

// clocks are what one sender says of time: how far its instants have got, and what the
// wall clock shows there. Each sender has its own, which no other sender changes.
type clocks struct {
	wall       *wall         // nil while it has reported none; never changed
	now        stall.Instant // the latest that it reported
	ahead      stall.Instant // start of the last stall that it reported before that
	strange    int           // statuses in a row that were far away
	hasty      int           // that were ahead, not long after each other
	hastyAt    time.Duration // the last of them, by registry.clock
	behind     int           // that were behind while it reported no time
	reportedAt time.Duration // the last that did, by registry.clock
	heard      time.Duration // the last event, likewise
	twice      time.Duration // the last that another must have sent, likewise
	two        bool          // there was one
}

// horizon returns the latest instant that may be reported: time goes on also
// without reports.
func (c *clocks) horizon(clock time.Duration) stall.Instant {
	return c.now + farAway + stall.Instant(clock-c.reportedAt)
}

// expect takes in the start of a stall. It reports false for one of the future: it
// would stay for ever. Before any time was reported that shows later.
func (c *clocks) expect(start stall.Instant, clock time.Duration) bool {
	if c.now == 0 {
		c.ahead = max(c.ahead, start)
		return true
	}
	return start <= c.horizon(clock)
}

// report takes in the time of a status. It reports false if that cannot be: one of the
// future would silence its sender for ever. If wrong is then true it is what was reported
// before that cannot be, and that has to be forgotten. Near is how far a sender may be
// ahead of itself.
func (c *clocks) report(s *semconv.Status, clock time.Duration, near stall.Instant) (ok, wrong bool) {
	elapsed := stall.Instant(clock - c.reportedAt)
	switch {
	case c.now == 0 && c.ahead > s.At+farAway:
		return false, true // its stalls would stay for ever
	case c.now == 0:
	case s.At+farAway < c.now || s.At > c.horizon(clock):
		c.strange++
		return false, c.strange >= believeAfter
	case s.At > c.now+elapsed+near:
		if clock-c.hastyAt > time.Duration(silentAfter) {
			c.hasty = 0
		}
		c.hastyAt = clock
		if c.hasty++; c.hasty < believeAfter {
			return false, false
		}
		c.hasty = 0
	case s.At+near < c.now:
		c.strange = 0
		if elapsed > silentAfter {
			c.behind++
		}
		return c.behind < believeAfter, c.behind >= believeAfter
	}
	c.strange, c.behind, c.reportedAt = 0, 0, clock
	c.now = max(c.now, s.At)
	return true, false
}

// relate takes in what a status says of the wall clock. It reports false if another
// sender must have the same name.
func (c *clocks) relate(s stall.WallOffset) bool {
	w := c.wall
	if w == nil {
		w = new(wall)
	}
	w, ok := w.learn(s)
	c.wall = w
	return ok
}

// dispute notes that two senders report as one.
func (c *clocks) dispute(clock time.Duration) { c.two, c.twice = true, clock }

// Every sender that reaches the Collector can say anything. So it speaks for itself
// alone:
//
//   - Its clocks are its own. Its spans are placed by the wall clock that its own
//     statuses report, and wait for its own sources, however far others say to be.
//   - For a host speak its probes: all of them, or those that an agent stamped. They
//     report the gaps of the machine, and place the spans of processes that report no
//     clock. Where they disagree, nothing is certain.
//   - For another process speaks the sidecar. What it reports on one goes before what
//     comes without a stamp under the same name. If two without a stamp report as one,
//     no sender is that process until one has fallen silent.

// speaksForHost reports whether a sender may report on more than itself.
func (r *registry) speaksForHost(id *identity) bool {
	return id.stamped || r.config.Probes != ProbesStamped
}

// walls returns the wall clocks by which spans are placed. Of those reported for the host
// these are the ones of live senders, or all if none is alive.
func (r *registry) walls(f *found) (w walls) {
	if f.host == nil {
		return w
	}
	if f.process != nil {
		w.own = f.process.clocks.wall
	}
	for _, live := range [...]bool{true, false} {
		for _, p := range f.host.probes {
			if c := p.clocks; c.wall != nil && live != r.silent(c.heard) {
				w.host = append(w.host, c.wall)
			}
		}
		if f.target != nil && f.target.clocks.wall != nil && live != r.silent(f.target.clocks.heard) {
			w.host = append(w.host, f.target.clocks.wall)
		}
		if len(w.host) > 0 {
			break
		}
	}
	return w
}

// latest returns how far the clock of a place has got, by the senders that may say so.
func (f *found) latest() (t stall.Instant) {
	for _, p := range f.host.probes {
		t = max(t, p.clocks.now)
	}
	for _, p := range [...]*process{f.process, f.target} {
		if p != nil {
			t = max(t, p.clocks.now)
		}
	}
	return t
}

// disputed reports whether two senders report as p, or did until a moment ago.
func (r *registry) disputed(p *process) bool {
	return p.clocks.two && r.clock-p.clocks.twice <= time.Duration(silentAfter)+r.config.Wait
}

// namesake reports whether another that is alive cannot be p and has its number, where
// numbers are those of the host: one of the two has a wrong identity.
func (r *registry) namesake(p *process) bool {
	if p.target || p.contained() {
		return false
	}
	for _, stamped := range [...]bool{false, true} {
		for _, o := range r.index[link{how: byBoot, a: p.id.boot, pid: p.id.number, stamped: stamped}] {
			if o != p && !o.contained() && !o.silent() && (stamped != p.id.stamped || createdApart(o.id.created, p.id.created)) {
				return true
			}
		}
	}
	return false
}

// began returns when the boot began by the wall clock of now, Unix ns; long ago if c has
// reported no time.
func (c *clocks) began() int64 {
	if c.wall == nil {
		return never
	}
	return int64(c.wall.latest().offset)
}

// over reports whether c reports an earlier boot of the machine of which one began at
// boot: it was last heard before. That is never so of its own.
func (c *clocks) over(boot int64) bool { return c.wall != nil && c.wall.latest().wallAt() <= boot }

// began returns when the boot began, by the senders that speak for the host.
func (h *host) began() int64 {
	boot := int64(never)
	for _, p := range h.probes {
		boot = max(boot, p.clocks.began())
	}
	return boot
}

// over reports whether all senders that speak for h report an earlier boot.
func (h *host) over(boot int64) bool {
	for _, p := range h.probes {
		if !p.clocks.over(boot) {
			return false
		}
	}
	return len(h.probes) > 0
}

// A machine that was copied while it ran, as from a snapshot, has the boot id of its
// copies, and a clock of its own. It shows when sources with host ids that differ go
// on reporting wall clocks that do. From then on the machines of that boot id are kept
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

// witness is a source that reported on the clock of its host for a while.
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

// split has the machines of a host kept apart from now on.
func (r *registry) split(h *host) {
	if len(r.copied) >= mostCopied || strings.Contains(h.boot, copyMark) {
		return
	}
	r.copied[h.boot] = true
	r.forgetHost(h)
	r.lost.hostsForgotten++
}
