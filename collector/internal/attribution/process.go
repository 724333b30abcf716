package attribution

import (
	"container/list"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// logs holds the sources of a process.
type logs [stall.NumOrigins]*sourceLog

// process is what is known of one process, or of what the machine does to one.
type process struct {
	host    *host
	id      identity      // of a target, no more than what the sidecar calls the host
	outer   int32         // the pid that the sidecar sees, 0 if it has not told
	born    uint64        // of a target: clock ticks since boot, 0 if not told
	target  bool          // it is in host.targets
	cgroups []uint64      // as it told; never changed, but replaced
	runtime logs          // of a target, TargetWatch alone
	clocks  clocks        // as its sources tell them
	heard   time.Duration // the last time, by registry.clock
	pauses  pauses
	place   *list.Element // in host.processes
}

// inside reports whether a source in the process itself has told of it.
func (p *process) inside() bool {
	return p.runtime[stall.GCWatch] != nil || p.runtime[stall.GoTrace] != nil
}

// silent reports whether nothing came of p for so long before others of its host were
// heard that it has ended, or cannot send. When things come nobody else can say.
func (p *process) silent() bool { return p.host.heard-p.heard > time.Duration(silentAfter) }

// contained reports whether the process is in a container, as far as anybody says:
// it says so itself, or the sidecar sees it by another pid than its own.
func (p *process) contained() bool {
	return p.id.contained() || p.outer != 0 && p.outer != p.id.number
}

// answers reports whether p, which the link led to, can be the process of id. A pid
// proves nothing where there may be several of one number, and nothing says which
// containers have pids of their own: a process with a shell before it is number 7
// there, as others are.
func (p *process) answers(id *identity, by how) bool {
	switch {
	case id.contradicts(&p.id):
		return false
	case by == byContainer, by == byPod, id.proves(&p.id):
		return true
	}
	return !id.contained() && !p.contained() && !(p.inside() && id.strange(&p.id))
}

// move takes in the cgroups of a process, if there is room for them.
func (p *process) move(cgroups []uint64, m *memory) {
	if len(cgroups) == 0 || slices.Equal(cgroups, p.cgroups) {
		return
	}
	switch more := (len(cgroups) - len(p.cgroups)) * cgroupBytes; {
	case more <= 0:
		m.forget(-more)
	case !m.grow(more):
		m.crowded()
		return
	}
	p.cgroups = cgroups
}

// sameBirth reports whether a process made at created, as otelgc tells it, may
// be the one made so many clock ticks after the boot: the boot is a whole second
// there, so what is left of one is the same in both.
func sameBirth(created string, ticks uint64) bool {
	const userHZ = 100 // of /proc on every Linux
	if created == "" || ticks == 0 {
		return true
	}
	t, err := time.Parse(time.RFC3339Nano, created)
	return err != nil || uint64(t.Nanosecond())/(1e9/userHZ) == ticks%userHZ
}
