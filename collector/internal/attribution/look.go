package attribution

import (
	"hash/maphash"
	"time"
)

// changes counts what comes and goes, by what it goes by. A span that waits looks
// for its place again only if something changed that goes by a name of its own:
// somebody always comes in a fleet, and 100,000 spans would look at every tick.
// Names that share a counter by chance have it look in vain.
type changes struct {
	seed maphash.Seed
	of   [1 << 16]uint32 // few meet in one, with thousands that come in a second
}

// counter is the number of one of the counters.
type counter uint16

func (c *changes) counter(l link) counter {
	l.stamped = false // whoever looks wants both
	return counter(maphash.Comparable(c.seed, l) % uint64(len(c.of)))
}

func (c *changes) count(l link) { c.of[c.counter(l)]++ }

// hostLink and nameLink are what a host goes by, and those that it has of its
// probes. They are in no index.
func hostLink(boot string) link { return link{a: boot} }

func nameLink(name string) link { return link{b: name} }

// interests are the counters of all that a span goes by, and how many there are.
type interests struct {
	in [8]counter
	n  int
}

func (c *changes) interestsOf(id *identity) (s interests) {
	add := func(l link) {
		s.in[s.n] = c.counter(l)
		s.n++
	}
	for _, l := range id.links() {
		if l.how != 0 {
			add(l)
		}
	}
	if id.boot != "" {
		add(hostLink(id.boot))
	}
	for _, name := range [...]string{id.hostID, id.hostName} {
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
	for _, l := range p.id.links() {
		if l.how != 0 {
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
// waits until it looks again: it is seconds until somebody is silent.
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
	id.boot = r.epoch(&id)
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
