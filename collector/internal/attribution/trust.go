package attribution

import (
	"strings"
	"time"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/stall"
)

// Every sender that reaches the Collector can say anything. So it speaks for itself
// alone:
//
//   - Its clocks are its own. Its spans are placed by the wall clock that its own
//     statuses report, and wait for its own sources, whatever time others report.
//   - For a host speak its probes: all of them, or those that an agent stamped. They
//     report the gaps of the machine, and place the spans of processes that report no
//     clock. Where they disagree, nothing is certain.
//   - For another process speaks the sidecar. What it reports on one goes before what
//     comes without a stamp under the same name. If two without a stamp report as one,
//     no sender is that process until one has fallen silent.

// speaksForHost reports whether a sender may report on more than itself.
func (r *registry) speaksForHost(id *wire.Identity) bool {
	return id.Stamped || r.config.Probes != ProbesStamped
}

// unstamped returns why an event without a stamp is not taken for its host: errSpoken
// while a stamped probe of the host is heard. Otherwise errStamp: the sender may be a
// sidecar at the wrong port.
func (r *registry) unstamped(boot string) error {
	if h := r.hosts[boot]; h != nil {
		for _, p := range h.probes {
			if !r.silent(p.clocks.Heard) {
				return errSpoken
			}
		}
	}
	return errStamp
}

// walls returns the wall clocks by which spans are placed. Of those reported for the host
// these are the ones of live senders, or all if none is alive.
func (r *registry) walls(f *found) (w senders.Walls) {
	if f.host == nil {
		return w
	}
	if f.process != nil {
		w.Own = f.process.clocks.Wall
	}
	for _, live := range [...]bool{true, false} {
		for _, p := range f.host.probes {
			if c := p.clocks; c.Wall != nil && live != r.silent(c.Heard) {
				w.Host = append(w.Host, c.Wall)
			}
		}
		if f.target != nil && f.target.clocks.Wall != nil && live != r.silent(f.target.clocks.Heard) {
			w.Host = append(w.Host, f.target.clocks.Wall)
		}
		if len(w.Host) > 0 {
			break
		}
	}
	return w
}

// latest returns how far the clock of a place has got, by the senders that may say so.
func (f *found) latest() (t stall.Instant) {
	for _, p := range f.host.probes {
		t = max(t, p.clocks.Now)
	}
	for _, p := range [...]*process{f.process, f.target} {
		if p != nil {
			t = max(t, p.clocks.Now)
		}
	}
	return t
}

// disputed reports whether two senders report as p, or did until a moment ago.
func (r *registry) disputed(p *process) bool {
	return p.clocks.Disputed(r.clock, time.Duration(senders.SilentAfter)+r.config.Wait)
}

// namesake reports whether another that is alive cannot be p and has its number, where
// numbers are those of the host: one of the two has a wrong identity.
func (r *registry) namesake(p *process) bool {
	if p.target || p.contained() {
		return false
	}
	for _, stamped := range [...]bool{false, true} {
		for _, o := range r.index[wire.Link{Kind: wire.ByBoot, A: p.id.Boot, PID: p.id.PID, Stamped: stamped}] {
			if o != p && !o.contained() && !o.silent() && (stamped != p.id.Stamped || wire.CreatedApart(o.id.Created, p.id.Created)) {
				return true
			}
		}
	}
	return false
}

// began returns when the boot began, by the senders that speak for the host.
func (h *host) began() int64 {
	boot := int64(senders.Never)
	for _, p := range h.probes {
		boot = max(boot, p.clocks.Began())
	}
	return boot
}

// over reports whether all senders that speak for h report an earlier boot.
func (h *host) over(boot int64) bool {
	for _, p := range h.probes {
		if !p.clocks.Over(boot) {
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
func (r *registry) epoch(id *wire.Identity) string {
	if !r.copied[id.Boot] {
		return id.Boot
	}
	return id.Boot + copyMark + id.HostID
}

// bootOf returns the boot id of an epoch.
func bootOf(epoch string) string {
	boot, _, _ := strings.Cut(epoch, copyMark)
	return boot
}

// disputes reports whether a source of h has another clock than one that is heard as
// well and says that it is of another machine. A clock that is set is another for
// all of them, after a moment.
func (h *host) disputes(of *wire.Identity, l *senders.Log, clock time.Duration) bool {
	offset, steady := l.SteadyOffset()
	if of.HostID == "" || !steady {
		return false
	}
	w := &h.witness
	if wire.Differ(w.hostID, of.HostID) && clock-w.heard <= time.Duration(senders.SilentAfter) && (w.offset-offset).Abs() > senders.ClocksApart {
		return true
	}
	*w = witness{of.HostID, offset, clock}
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
