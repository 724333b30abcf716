package attribution

// room counts so many bytes, and makes room for them by forgetting who was
// silent longest, but for the host and the process that it is for. It reports
// false if there is none.
func (r *registry) room(bytes int, of *host, but *process) bool {
	for !r.account.know(bytes) {
		if r.forgetProcess(but) {
			continue
		}
		h := r.silentHost(of)
		if h == nil {
			return false
		}
		r.forgetHost(h)
	}
	return true
}

// forgetProcess forgets the process that was silent longest on the host that
// has most: who sends many forgets its own. It reports false if there is none
// but the one that is to stay.
func (r *registry) forgetProcess(but *process) bool {
	var most *host
	for _, h := range r.hosts {
		if h.processes.Len() > 0 && (most == nil || h.processes.Len() > most.processes.Len()) {
			most = h
		}
	}
	if most == nil {
		return false
	}
	p := most.processes.Back().Value.(*process)
	if p == but {
		return false // on every host there is at most one
	}
	r.forget(p)
	r.lost.processesForgotten++
	return true
}

func (r *registry) forget(p *process) {
	h := p.host
	h.processes.Remove(p.place)
	if p.target {
		delete(h.targets, p.outer)
	} else {
		for _, l := range p.id.links() {
			if l.how == 0 {
				continue
			}
			if r.index[l] = without(r.index[l], p); len(r.index[l]) == 0 {
				delete(r.index, l)
			}
		}
	}
	r.processes--
	r.account.forget(p.bytes)
	r.version++
}

// silentHost returns the host that was silent longest, nil if there is none but
// the one that is to stay.
func (r *registry) silentHost(but *host) *host {
	var oldest *host
	for _, h := range r.hosts {
		if h != but && (oldest == nil || h.heard < oldest.heard) {
			oldest = h
		}
	}
	return oldest
}

func (r *registry) forgetHost(h *host) {
	for e := h.processes.Front(); e != nil; e = h.processes.Front() {
		r.forget(e.Value.(*process))
	}
	r.unname(h)
	delete(r.hosts, h.boot)
	r.account.forget(processBytes + logBytes*len(h.probes))
	r.lost.hostsForgotten++
	r.version++
}
