package attribution

import (
	"hash/maphash"
	"time"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/stall"
)

// found is the place that a span's resource names.
type found struct {
	host      *host    // nil if it is not known
	process   *process // nil if it is not known
	target    *process
	contested bool // several could be meant, and time alone may leave one
	ambiguous bool // it has not: none is
	over      bool // the process that had the pid has ended: no event of it is waited for
}

// find returns the place of a span's resource. With a boot id it is on that
// host; otherwise it is found by its container or pod, else by host and pid.
// Where two could be meant, none is.
func (r *registry) find(id *wire.Identity) (f found) {
	if id.Boot != "" {
		f.host = r.hosts[id.Boot]
	}
	if id.Boot == "" || f.host != nil {
		f.process, f.contested = r.findProcess(id)
		f.ambiguous = f.contested && f.process == nil
	}
	switch {
	case f.process != nil:
		f.host = f.process.host
	case f.host == nil && id.Boot == "" && !f.ambiguous:
		f.host, f.contested = r.findHost(id)
	}
	if f.host != nil && !f.ambiguous {
		f.target = f.host.targetOf(id, f.process)
	}
	return f
}

// findProcess returns the process of id. The word of a stamped sender goes before that
// of others, unless it says nothing any more. A process that two report is not found.
func (r *registry) findProcess(id *wire.Identity) (p *process, contested bool) {
	if r.config.Probes == ProbesStamped {
		stamped := *id
		stamped.Stamped = true
		p, contested = r.findAmong(&stamped)
	}
	if p == nil && !contested || p != nil && p.silent() {
		if q, several := r.findAmong(id); q != nil || several {
			p, contested = q, several
		}
	}
	if p != nil && r.disputed(p) {
		return nil, true
	}
	return p, contested
}

// findAmong returns the process of id among those that are stamped as it is.
func (r *registry) findAmong(id *wire.Identity) (_ *process, contested bool) {
	exact := r.exact[*id]
	for _, l := range id.Links() {
		if l.Kind == 0 || l.Kind == wire.ByHost && id.Boot != "" {
			continue
		}
		if exact != nil && exact.answers(id, l.Kind) {
			return exact, false
		}
		p, several := pick(r.index[l], id, l.Kind)
		if p != nil && l.Kind == wire.ByHost {
			shared, others := r.shared(l.B, p)
			if shared {
				return nil, true
			}
			several = several || others
		}
		if p != nil || several {
			return p, several
		}
		if l.Kind == wire.ByBoot {
			return nil, false // no process has that pid: a container has no other
		}
	}
	return nil, false
}

// pick returns the one process that id can mean, where none has that very
// identity: of several the one that still speaks, of these the one that goes by id's
// instance.
func pick(list []*process, id *wire.Identity, by wire.LinkKind) (_ *process, several bool) {
	var one *process
	n := 0
	for _, p := range list {
		if p.answers(id, by) {
			one, n = p, n+1
		}
	}
	if n <= 1 {
		return one, false
	}
	one = nil
	boot := int64(senders.Never)
	for _, p := range list {
		boot = max(boot, p.clocks.Began())
	}
	var named *process
	speak, claim := 0, 0
	for _, p := range list {
		if !p.answers(id, by) || p.silent() || p.clocks.Over(boot) {
			continue
		}
		one = p
		if speak++; id.SameInstance(&p.id) {
			named = p
			claim++
		}
	}
	switch {
	case speak == 1:
		return one, true
	case claim == 1:
		return named, true
	}
	return nil, true
}

// shared reports whether another machine goes by a name of p's host, and whether
// another host does, which may be an earlier boot of the same.
func (r *registry) shared(name string, p *process) (shared, others bool) {
	for _, o := range r.named[name] {
		if o != p.host {
			others = true
			shared = shared || !o.over(p.clocks.Began()) && !p.clocks.Over(o.began())
		}
	}
	return shared, others
}

// findHost returns the host of a process that is not watched, by the name that
// its probes have for it.
func (r *registry) findHost(id *wire.Identity) (_ *host, contested bool) {
	for _, name := range [...]string{id.HostID, id.HostName} {
		if name == "" || len(r.named[name]) == 0 {
			continue
		}
		var one *host
		boot := int64(senders.Never)
		for _, h := range r.named[name] {
			boot = max(boot, h.began())
		}
		for _, h := range r.named[name] {
			switch {
			case h.over(boot):
			case one != nil:
				return nil, true
			default:
				one = h
			}
		}
		return one, len(r.named[name]) > 1
	}
	return nil, false
}

// leave leaves out a process that had ended before the spans began, from that Unix ns
// on: the pid is used again. One that has only not reported yet may be heard in time.
func (r *registry) leave(f *found, id *wire.Identity, begin int64) {
	if f.host == nil || begin == 0 {
		return
	}
	w := r.walls(f)
	at, slack, ok := w.Instant(begin)
	if !ok {
		return
	}
	at = at.Add(-slack)
	if p := f.process; p.ended(at) && !id.Proves(&p.id) {
		f.process, f.contested, f.over = nil, true, true
		f.target = f.host.targetOf(id, nil)
	}
	if t := f.target; f.process == nil && t.ended(at) && (id.Created == "" || t.createdTicks == 0) {
		f.target, f.contested, f.over = nil, true, true
	}
}

// ended reports whether none of the sources of a process reported on it for so long
// before t that it was gone, if there is one.
func (p *process) ended(t stall.Instant) bool {
	return p != nil && p.clocks.Now > 0 && p.clocks.Now+senders.SilentAfter < t
}

// targetOf returns what is known of what the machine does to a process. The
// sidecar has a pid of its own for it: the one that the process's source reported,
// else the same if nothing says that it is in a container.
func (h *host) targetOf(id *wire.Identity, p *process) *process {
	if p != nil && p.outer != 0 {
		if t := h.targets[p.outer]; t != nil && sameCreation(p.id.Created, t.createdTicks) {
			return t
		}
		return nil
	}
	contained := id.Contained()
	if p != nil {
		contained = contained || p.id.Contained()
		id = &p.id
	}
	t := h.targets[id.PID]
	if t == nil || !sameCreation(id.Created, t.createdTicks) {
		return nil
	}
	// Whose host has another name than the sidecar's is in a container, too.
	contained = contained || wire.Differ(id.HostName, t.id.HostName)
	if contained && (id.Created == "" || t.createdTicks == 0) {
		return nil
	}
	return t
}

// changes counts what comes and goes, by what it goes by. A span that waits looks
// for its place again only if something changed that goes by a name of its own:
// in a fleet there is always a newcomer, and 100,000 spans would look at every tick.
// Names that share a counter by chance have it look in vain.
type changes struct {
	seed maphash.Seed
	of   [1 << 16]uint32 // few meet in one, with thousands that come in a second
}

// counter is the number of one of the counters.
type counter uint16

func (c *changes) counter(l wire.Link) counter {
	l.Stamped = false // both are looked for
	return counter(maphash.Comparable(c.seed, l) % uint64(len(c.of)))
}

func (c *changes) count(l wire.Link) { c.of[c.counter(l)]++ }

// hostLink and nameLink are what a host goes by, and those that it has of its
// probes. They are in no index.
func hostLink(boot string) wire.Link { return wire.Link{A: boot} }

func nameLink(name string) wire.Link { return wire.Link{B: name} }

// interests are the counters of all that a span goes by, and how many there are.
type interests struct {
	in [wire.MostLinks + 3]counter // the host, and its id and name
	n  int
}

func (c *changes) interestsOf(id *wire.Identity) (s interests) {
	add := func(l wire.Link) {
		s.in[s.n] = c.counter(l)
		s.n++
	}
	for _, l := range id.Links() {
		if l.Kind != 0 {
			add(l)
		}
	}
	if id.Boot != "" {
		add(hostLink(id.Boot))
	}
	for _, name := range [...]string{id.HostID, id.HostName} {
		if name != "" {
			add(nameLink(name))
		}
	}
	return s
}

// changed says that p came or went, or goes by something else now.
func (r *registry) changed(p *process) {
	r.version++
	if p.target {
		r.changes.count(hostLink(p.host.boot))
		return
	}
	for _, l := range p.id.Links() {
		if l.Kind != 0 {
			r.changes.count(l)
		}
	}
}

// cameOrWent says that h did.
func (r *registry) cameOrWent(h *host) {
	r.version++
	r.changes.of[h.counter]++
}

// lookAgain is how long a span that may be of several, or of one that may have ended,
// waits until it looks again: it is seconds until one of them is silent.
const lookAgain = time.Second

// look finds the place of h, unless it is known and nothing changed. Of several
// that it may be, some fall silent, or speak again, with time alone.
func (r *registry) look(h *held) {
	again := h.found.contested && r.clock-h.looked >= lookAgain
	if h.version == r.version && !again {
		return
	}
	if h.version == 0 {
		h.since = r.clock
	}
	h.version = r.version
	if h.interests.n == 0 || again || h.seen != r.seen(h) {
		r.lookAnew(h)
	}
}

// lookAnew finds the place of h in any case.
func (r *registry) lookAnew(h *held) {
	id := h.id
	id.Boot = r.epoch(&id)
	h.interests = r.changes.interestsOf(&id)
	h.found = r.find(&id)
	r.leave(&h.found, &id, h.begin)
	h.looked = r.clock
	h.seen = r.seen(h)
}

// seen returns what has changed so far of all that h may be of: what the machine
// does to its process goes by the host.
func (r *registry) seen(h *held) (n uint64) {
	for _, c := range h.interests.in[:h.interests.n] {
		n += uint64(r.changes.of[c])
	}
	if h.found.host != nil {
		n += uint64(r.changes.of[h.found.host.counter])
	}
	return n
}
