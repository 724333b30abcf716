package attribution

import (
	"container/list"
	"hash/maphash"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// mostLinked bounds how many processes one link leads to, such as those of one
// boot that have pid 1 in their containers: who looks for one looks at them all.
const mostLinked = 1024

// registry knows the hosts and processes that were heard, and bounds them. It is
// guarded by the Attributor's lock.
type registry struct {
	config  Config
	lost    *lost
	memory  memory
	hosts   map[string]*host // by epoch
	copied  map[string]bool  // boot ids that several machines share
	recent  list.List        // of *host, the one heard last in front
	exact   map[identity]*process
	index   map[link][]*process
	named   map[string][]*host // by host.id, and by host.name, as probes say
	version uint64             // changes with what can be found
	changes changes            // the same, by what it goes by

	processes int
	began     time.Time     // the first tick; zero while nobody ticks
	clock     time.Duration // since then
	refused   refusal       // the last
	dying     *host         // of which the last made way that had fallen silent
	newcomers newcomers
}

func (r *registry) init(c Config, lost *lost, account *account) {
	r.config, r.lost = c, lost
	r.memory = memory{account, lost, stall.Instant(c.Wait), stall.Instant(c.Wait + lookBack)}
	r.copied = make(map[string]bool)
	r.hosts, r.exact = make(map[string]*host), make(map[identity]*process)
	r.index, r.named = make(map[link][]*process), make(map[string][]*host)
	r.changes.seed = maphash.MakeSeed()
}

// of returns whose event e is, where its stalls go, and the clocks of who tells. The
// process is nil for those of the machine, the log if there is no room for one.
func (r *registry) of(e *event) (*host, *process, *sourceLog, *clocks) {
	h := r.host(e.of.boot)
	if h == nil {
		return nil, nil, nil, nil
	}
	if isProbe(e.source) && r.speaksForHost(&e.of) {
		l, c := r.probe(h, e)
		return h, nil, l, c
	}
	p := r.process(h, e)
	if p == nil {
		return h, nil, nil, nil
	}
	p.clocks.heard = r.clock
	h.processes.MoveToFront(p.place)
	p.heard = r.clock
	if p.runtime[e.source] == nil {
		if r.room(logBytes, h, p) {
			p.runtime[e.source] = newSourceLog(e.source, &r.memory)
			r.changed(p) // with otelgc in it, it goes by no other names
		} else if p.runtime == (logs{}) {
			r.forget(p) // it would be known, and nothing of it
		}
	}
	return h, p, p.runtime[e.source], &p.clocks
}

func (r *registry) host(boot string) *host {
	h := r.hosts[boot]
	if h == nil {
		since := r.since(boot)
		for len(r.hosts) >= r.config.MaxHosts {
			if !r.forgetSilentHost(nil) {
				return nil
			}
		}
		if !r.room(hostBytes+textBytes+len(boot), &host{since: since}, nil) {
			return nil
		}
		h = newHost(boot)
		h.since = since
		h.place = r.recent.PushFront(h)
		h.counter = r.changes.counter(hostLink(boot))
		r.hosts[boot] = h
		r.came(boot)
		r.cameOrWent(h)
	}
	r.recent.MoveToFront(h.place)
	h.heard = r.clock
	return h
}

// process returns the process of an event: all events of one come with the same
// resource, so it is the one of that very identity, or a new one.
func (r *registry) process(h *host, e *event) *process {
	if e.source == stall.TargetWatch {
		return r.target(h, e)
	}
	if e.of.number == 0 {
		return nil // without a pid it is nobody's
	}
	if p := r.exact[e.of]; p != nil {
		return p
	}
	links := e.of.links()
	for _, l := range links {
		if len(r.index[l]) >= mostLinked {
			return nil
		}
	}
	p := r.add(h, &process{host: h, id: e.of})
	if p != nil {
		r.exact[p.id] = p
		for _, l := range links {
			if l.how != 0 {
				r.index[l] = append(r.index[l], p)
			}
		}
		if r.namesake(p) {
			r.lost.events[errConflict.Error()]++
		}
	}
	return p
}

// target returns what is known of what the machine does to one process.
func (r *registry) target(h *host, e *event) *process {
	n := e.target
	if n == 0 {
		return nil
	}
	p := h.targets[n]
	if p != nil && p.born != 0 && e.born != 0 && p.born != e.born {
		if !p.silent() {
			r.lost.events[errConflict.Error()]++ // and it would still be there
		}
		r.forget(p) // the pid was used again
		p = nil
	}
	if p == nil {
		if p = r.add(h, &process{host: h, outer: n, target: true, id: identity{hostName: e.of.hostName}}); p == nil {
			return nil
		}
		h.targets[n] = p
	}
	if e.born != 0 && p.born != e.born {
		p.born = e.born
		r.changed(p)
	}
	return p
}

// add makes room for p and counts it; nil if there is none.
func (r *registry) add(h *host, p *process) *process {
	for r.processes >= r.config.MaxProcesses {
		if !r.makeWay(h, nil) {
			return nil
		}
	}
	if !r.room(p.weight(), h, nil) {
		return nil
	}
	p.pauses.memory = &r.memory
	p.heard = r.clock
	p.place = h.processes.PushFront(p)
	r.processes++
	r.changed(p)
	return p
}

// without returns list without v; the order does not matter.
func without[T comparable](list []T, v T) []T {
	i := slices.Index(list, v)
	if i < 0 {
		return list
	}
	last := len(list) - 1
	list[i] = list[last]
	clear(list[last:])
	return list[:last]
}
