package attribution

import (
	"github.com/otelgc/otelgc/stall"
)

// registry knows the hosts and processes that were heard, and bounds them.
type registry struct {
	config    Config
	lost      *Lost
	hosts     map[string]*host // by boot id
	places    map[string]attached
	processes int
	order     uint64
}

// attached is a process that is known by its container too.
type attached struct {
	host    *host
	process *process
}

func (r *registry) init(c Config, lost *Lost) {
	*r = registry{config: c, lost: lost, hosts: make(map[string]*host), places: make(map[string]attached)}
}

// of returns whose event e is, and where its stalls go. The process is nil for
// those of the machine.
func (r *registry) of(e *event) (*host, *process, *sourceLog) {
	r.order++
	h := r.host(e.of.boot)
	if e.of.host != "" {
		h.name = e.of.host
	}
	switch {
	case isProbe(e.source):
		if h.probes[e.source] == nil {
			h.probes[e.source] = newSourceLog(e.source)
		}
		return h, nil, h.probes[e.source]
	case e.source == stall.TargetWatch:
		return h, nil, r.target(h, e.status.target.number)
	}
	p := r.process(h, e.of)
	if p.runtime[e.source] == nil {
		p.runtime[e.source] = newSourceLog(e.source)
	}
	return h, p, p.runtime[e.source]
}

func (r *registry) host(boot string) *host {
	h := r.hosts[boot]
	if h == nil {
		if len(r.hosts) >= r.config.MaxHosts {
			r.forgetHost()
		}
		h = newHost(boot)
		r.hosts[boot] = h
	}
	h.heard = r.order
	return h
}

// process returns the process of an event. What was known of another with the
// same pid is of no use to it.
func (r *registry) process(h *host, id identity) *process {
	p := h.known(id.process)
	if p == nil {
		r.makeRoom(h, id.process.number)
		p = &process{id: id.process}
		h.processes[id.process.number] = p
		r.processes++
	}
	p.heard = r.order
	if p.id.created == "" {
		p.id.created = id.process.created
	}
	if id.place != "" && p.place != id.place {
		delete(r.places, p.place)
		p.place = id.place
		r.places[id.place] = attached{h, p}
	}
	return p
}

// target returns the log of what the machine did to one process.
func (r *registry) target(h *host, number int64) *sourceLog {
	p := r.process(h, identity{process: pid{number: number}})
	if p.target == nil {
		p.target = newSourceLog(stall.TargetWatch)
	}
	return p.target
}

// makeRoom makes room for a process that is to have this pid.
func (r *registry) makeRoom(h *host, number int64) {
	if p := h.processes[number]; p != nil {
		r.forget(h, p)
	}
	if r.processes < r.config.MaxProcesses {
		return
	}
	h = r.silent()
	var oldest *process
	for _, p := range h.processes {
		if oldest == nil || p.heard < oldest.heard {
			oldest = p
		}
	}
	r.forget(h, oldest)
	r.lost.ProcessesForgotten++
}

func (r *registry) forget(h *host, p *process) {
	delete(h.processes, p.id.number)
	delete(r.places, p.place)
	r.processes--
}

// silent returns the host that was silent longest of those with a process.
func (r *registry) silent() *host {
	var oldest *host
	for _, h := range r.hosts {
		if len(h.processes) > 0 && (oldest == nil || h.heard < oldest.heard) {
			oldest = h
		}
	}
	return oldest
}

func (r *registry) forgetHost() {
	var oldest *host
	for _, h := range r.hosts {
		if oldest == nil || h.heard < oldest.heard {
			oldest = h
		}
	}
	for _, p := range oldest.processes {
		r.forget(oldest, p)
	}
	delete(r.hosts, oldest.boot)
	r.lost.HostsForgotten++
}

// find returns the host and the process of a span's resource, nil for what is
// not known. A span without boot id is found by its container or pod, else by
// host and pid.
func (r *registry) find(id identity) (*host, *process) {
	if id.boot != "" {
		h := r.hosts[id.boot]
		if h == nil {
			return nil, nil
		}
		return h, h.known(id.process)
	}
	if at, ok := r.places[id.place]; ok && id.place != "" {
		return at.host, at.process
	}
	if id.host == "" {
		return nil, nil
	}
	var newest *host // of several boots of one machine
	for _, h := range r.hosts {
		if h.name == id.host && (newest == nil || h.heard > newest.heard) {
			newest = h
		}
	}
	if newest == nil {
		return nil, nil
	}
	return newest, newest.known(id.process)
}
