package attribution

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Everybody who reaches the Collector can say anything. So a sender speaks for itself,
// and what it says reaches no further:
//
//   - Its clocks are its own. Its spans are placed by the wall clock that its own
//     statuses tell, and wait for its own sources, however far others say to be.
//   - For a host speak its probes: all of them, or those that an agent stamped. They
//     tell the gaps of the machine, and place the spans of processes that tell no
//     clock. Where they disagree, nobody knows, and nothing is certain.
//   - For another process speaks the sidecar. What it tells of one goes before what
//     comes without a stamp under the same name. If two without a stamp tell as one,
//     nobody is that process until one has fallen silent.

// speaksForHost reports whether a sender may tell of more than itself.
func (r *registry) speaksForHost(id *identity) bool {
	return id.stamped || r.config.Probes != ProbesStamped
}

// walls returns by whose word spans are placed. Of those who speak for the host that is
// of those who have not fallen silent, if there are any.
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

// latest returns how far the clock of a place has got, by those who may say so.
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

// disputed reports whether two senders tell as p, or did until a moment ago.
func (r *registry) disputed(p *process) bool {
	return p.clocks.two && r.clock-p.clocks.twice <= time.Duration(silentAfter)+r.config.Wait
}

// namesake reports whether another that is alive cannot be p and has its number, where
// numbers are those of the host: one of the two is not who it says.
func (r *registry) namesake(p *process) bool {
	if p.target || p.contained() {
		return false
	}
	for _, stamped := range [...]bool{false, true} {
		for _, o := range r.index[link{how: byBoot, a: p.id.boot, pid: p.id.number, stamped: stamped}] {
			if o != p && !o.contained() && !o.silent() && (stamped != p.id.stamped || bornApart(o.id.created, p.id.created)) {
				return true
			}
		}
	}
	return false
}

// began returns when the boot began by the wall clock of now, Unix ns; of who has told
// no time long ago.
func (c *clocks) began() int64 {
	if c.wall == nil {
		return never
	}
	return int64(c.wall.latest().offset)
}

// over reports whether c tells of an earlier boot of the machine of which one began at
// boot: it was last heard before. That is never so of its own.
func (c *clocks) over(boot int64) bool { return c.wall != nil && c.wall.latest().wallAt() <= boot }

// began returns when the boot began, by those who speak for the host.
func (h *host) began() int64 {
	boot := int64(never)
	for _, p := range h.probes {
		boot = max(boot, p.clocks.began())
	}
	return boot
}

// over reports whether all who speak for h tell of an earlier boot.
func (h *host) over(boot int64) bool {
	for _, p := range h.probes {
		if !p.clocks.over(boot) {
			return false
		}
	}
	return len(h.probes) > 0
}
