package attribution

import (
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// registry knows the hosts and processes that were heard, and bounds them. It is
// guarded by the Attributor's lock.
type registry struct {
	config    Config
	lost      *lost
	hosts     map[string]*host // by boot id
	index     map[link][]*process
	named     map[string][]*host // by host.id, and by host.name, as probes say
	processes int
	account   *account
	order     uint64
	version   uint64 // changes with what can be found
}

func (r *registry) init(c Config, lost *lost, account *account) {
	r.config, r.lost, r.account = c, lost, account
	r.hosts, r.index, r.named = make(map[string]*host), make(map[link][]*process), make(map[string][]*host)
}

// of returns whose event e is, and where its stalls go. The process is nil for
// those of the machine, the log if there is no room for one.
func (r *registry) of(e *event) (*host, *process, *sourceLog) {
	r.order++
	h := r.host(e.of.boot)
	if h == nil {
		return nil, nil, nil
	}
	if isProbe(e.source) {
		return h, nil, r.probe(h, e)
	}
	p := r.process(h, e)
	if p == nil {
		return h, nil, nil
	}
	h.processes.MoveToFront(p.place)
	if p.runtime[e.source] == nil && r.room(logBytes, h, p) {
		p.runtime[e.source] = newSourceLog(e.source)
		p.bytes += logBytes
	}
	return h, p, p.runtime[e.source]
}

func (r *registry) host(boot string) *host {
	h := r.hosts[boot]
	if h == nil {
		if len(r.hosts) >= r.config.MaxHosts {
			r.forgetHost(r.silentHost(nil))
		}
		if !r.room(processBytes, nil, nil) {
			return nil
		}
		h = newHost(boot)
		r.hosts[boot] = h
		r.version++
	}
	h.heard = r.order
	return h
}

// process returns the process of an event: all events of one come with the same
// resource, so it is the one of that very identity, or a new one.
func (r *registry) process(h *host, e *event) *process {
	if e.source == stall.TargetWatch {
		return r.target(h, e)
	}
	l := e.of.links()[0]
	if l.how == 0 {
		return nil // without a pid it is nobody's
	}
	for _, p := range r.index[l] {
		if p.id == e.of {
			return p
		}
	}
	p := r.add(h, &process{host: h, id: e.of})
	if p != nil {
		for _, l := range p.id.links() {
			if l.how != 0 {
				r.index[l] = append(r.index[l], p)
			}
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
		r.forget(p) // the pid was used again
		p = nil
	}
	if p == nil {
		if p = r.add(h, &process{host: h, outer: n, target: true}); p == nil {
			return nil
		}
		h.targets[n] = p
	}
	if e.born != 0 {
		p.born = e.born
	}
	return p
}

// add makes room for p and counts it; nil if there is none.
func (r *registry) add(h *host, p *process) *process {
	if r.processes >= r.config.MaxProcesses {
		r.forgetProcess(nil)
	}
	if !r.room(processBytes, h, nil) {
		return nil
	}
	p.bytes = processBytes
	p.place = h.processes.PushFront(p)
	r.processes++
	r.version++
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
