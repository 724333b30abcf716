package attribution

import (
	"cmp"
	"hash/maphash"
	"time"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/collector/internal/wire"
)

// tick advances the clock, and forgets hosts and processes that were silent for so
// long that no span can want them.
func (r *registry) tick(now time.Time) {
	if r.began.IsZero() {
		r.began = now
	}
	r.clock = max(r.clock, now.Sub(r.began))
	for p := range r.tracing {
		if !p.traced.Expire(r.clock) {
			delete(r.tracing, p)
		}
	}
	lingers := time.Duration(r.memory.Back)
	if r.memory.Plenty() {
		lingers += 8 * budget.LookBack
	}
	for e := r.recent.Back(); e != nil; {
		h := e.Value.(*host)
		e = e.Prev()
		for p := h.silentest(); p != nil && r.clock-p.heard > lingers; p = h.silentest() {
			r.forget(p)
		}
		if r.clock-h.heard > lingers {
			r.forgetHost(h)
		}
	}
}

// silent reports whether a sender that was last heard then counts as dead. Without
// ticks every sender does.
func (r *registry) silent(heard time.Duration) bool {
	return r.began.IsZero() || r.clock-heard > time.Duration(senders.SilentAfter)+r.config.Wait
}

// room counts so many bytes for a process of a host, or for a host, and makes room
// for them. It reports false if there is none.
func (r *registry) room(bytes int, of *host, but *process) bool {
	for !r.memory.Know(bytes) {
		if !r.makeWay(of, but) {
			return false
		}
	}
	return true
}

// makeWay forgets a process or a host that is silent. If all are alive, it forgets the
// process heard least lately of the host with most processes, in favour of a host with
// fewer that stays: a host that sends many gets no more in. It reports false if nothing
// may be forgotten. Then newcomers are not known: if they took turns with those that
// are, nothing would be known of any.
func (r *registry) makeWay(of *host, but *process) bool {
	ask := refusal{r.version, r.clock, of.processes.Len(), r.stays(of)}
	if r.refused.holds(ask) {
		return false
	}
	silent, most := r.candidates(but)
	switch {
	case silent != nil:
		r.forget(silent)
		r.lost.processesForgotten++
	case r.forgetSilentHost(of):
	case most != nil && ask.stays && most.processes.Len() > ask.own+1 && most.silentest() != but:
		r.forget(most.silentest())
		r.lost.processesForgotten++
	default:
		r.refused = ask
		return false
	}
	return true
}

// refusal is when none made way for a process of a host that has so many. In
// a flood the answer is the same until something changes.
type refusal struct {
	version uint64
	clock   time.Duration
	own     int
	stays   bool
}

func (r refusal) holds(ask refusal) bool {
	return r.version == ask.version && r.clock == ask.clock && r.own <= ask.own && (r.stays || !ask.stays)
}

// candidates returns, of the processes but one that say nothing any more, the one that
// was silent longest, and the host with most processes; nil if there are none. The one
// silent longest of a host is at the end of its list, so each host takes one look; and
// none does while there are more of the host of the last, as of a host that fell silent.
func (r *registry) candidates(but *process) (silent *process, most *host) {
	if r.dying != nil {
		if p := r.deadOf(r.dying, but); p != nil {
			return p, nil
		}
	}
	for e := r.recent.Back(); e != nil; e = e.Prev() {
		h := e.Value.(*host)
		if h.processes.Len() > 0 && (most == nil || h.processes.Len() > most.processes.Len()) {
			most = h
		}
		if p := r.deadOf(h, but); p != nil && (silent == nil || p.sparedFor(silent)) {
			silent, r.dying = p, h
		}
	}
	return silent, most
}

// deadOf returns the process of h that was silent longest, nil if it is not as good as
// dead, or the one that is to stay.
func (r *registry) deadOf(h *host, but *process) *process {
	if p := h.silentest(); p != nil && p != but && r.silent(p.heard) {
		return p
	}
	return nil
}

// sparedFor reports whether p is to make way rather than o: it was silent for longer,
// or as long and is of a host with more.
func (p *process) sparedFor(o *process) bool {
	return cmp.Or(cmp.Compare(p.heard, o.heard), cmp.Compare(o.host.processes.Len(), p.host.processes.Len())) < 0
}

// silentest returns the process that was silent longest, nil if there is none.
func (h *host) silentest() *process {
	if e := h.processes.Back(); e != nil {
		return e.Value.(*process)
	}
	return nil
}

func (r *registry) forget(p *process) {
	h := p.host
	h.processes.Remove(p.place)
	if p.target {
		delete(h.targets, p.outer)
	} else {
		delete(r.exact, p.id)
		for _, l := range p.id.Links() {
			if l.Kind == 0 {
				continue
			}
			if r.index[l] = without(r.index[l], p); len(r.index[l]) == 0 {
				delete(r.index, l)
			}
		}
	}
	r.processes--
	p.traced.Close()
	delete(r.tracing, p)
	r.memory.Forget(p.weight() + p.owned())
	r.changed(p)
}

// forgetSender forgets a process, or a probe of a host, that reported impossible times.
func (r *registry) forgetSender(h *host, p *process, l *senders.Log) {
	if p != nil {
		r.forget(p)
	} else {
		r.forgetProbe(h, l)
	}
	r.lost.processesForgotten++
}

// forgetSilentHost forgets the host that was silent longest, if it says nothing
// any more and is not the one that is to stay.
func (r *registry) forgetSilentHost(but *host) bool {
	e := r.recent.Back()
	if e != nil && e.Value == but {
		e = e.Prev()
	}
	if e == nil || !r.silent(e.Value.(*host).heard) {
		return false
	}
	r.forgetHost(e.Value.(*host))
	r.lost.hostsForgotten++
	return true
}

func (r *registry) forgetHost(h *host) {
	for p := h.silentest(); p != nil; p = h.silentest() {
		r.forget(p)
	}
	r.unname(h)
	delete(r.hosts, h.boot)
	r.recent.Remove(h.place)
	if r.dying == h {
		r.dying = nil
	}
	bytes := hostBytes + wire.TextBytes + len(h.boot)
	for _, p := range h.probes {
		bytes += p.weight()
	}
	r.memory.Forget(bytes)
	r.cameOrWent(h)
}

// staysAfter is for how long a host has to report until those that live make way for
// it. A host heard once takes no place: or a flood of boot ids would take that of
// all processes of a host but one.
const staysAfter = time.Second

// newcomers remembers since when hosts report that are not known, the few that were
// heard last, in buckets by the hash of their boot id. One that is lost in a flood is
// remembered anew when that is over.
type newcomers [1 << 8]bucket

type bucket [4]newcomer

// newcomer is a host that is not known; the zero value is none.
type newcomer struct {
	boot  uint64 // hashed
	since time.Duration
	heard time.Duration
}

// since returns since when a host reports that is not known, by registry.clock.
func (r *registry) since(boot string) time.Duration {
	sum, b := r.bucket(boot)
	n := b.of(sum)
	if n != nil && !r.silent(n.heard) {
		n.heard = r.clock
		return n.since
	}
	if n == nil {
		n = b.spare(r)
	}
	if n != nil {
		*n = newcomer{sum, r.clock, r.clock}
	}
	return r.clock
}

// came makes room among the newcomers: this one is known now.
func (r *registry) came(boot string) {
	sum, b := r.bucket(boot)
	if n := b.of(sum); n != nil {
		*n = newcomer{}
	}
}

// bucket returns where a boot id is remembered, and as what.
func (r *registry) bucket(boot string) (sum uint64, b *bucket) {
	sum = maphash.String(r.changes.seed, boot)
	return sum, &r.newcomers[sum%uint64(len(r.newcomers))]
}

func (b *bucket) of(sum uint64) *newcomer {
	for i := range b {
		if b[i].boot == sum {
			return &b[i]
		}
	}
	return nil
}

// spare returns the place of the newcomer that can best be spared, of several the one
// heard least lately; nil if all of them are about to have their turn: replacing
// them by turns would keep all from it.
func (b *bucket) spare(r *registry) (spared *newcomer) {
	least := waits
	for i := range b {
		switch n, is := &b[i], r.standing(&b[i]); {
		case is == waits:
		case spared == nil, is < least, is == least && n.heard < spared.heard:
			spared, least = n, is
		}
	}
	return spared
}

// standing says how well a newcomer can be spared, the best first.
type standing uint8

const (
	gone    standing = iota // or none
	once                    // it was heard once, as all of a flood are
	refused                 // it reported for long enough, and none made way
	waits                   // it is about to have reported for long enough
)

func (r *registry) standing(n *newcomer) standing {
	switch {
	case n.boot == 0 || r.silent(n.heard):
		return gone
	case n.since == n.heard:
		return once
	case n.heard-n.since >= staysAfter:
		return refused
	}
	return waits
}

// stays reports whether h has reported for so long that others make way for it.
func (r *registry) stays(h *host) bool { return r.clock-h.since >= staysAfter }
