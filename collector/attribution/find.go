package attribution

// found is the place that a span's resource names.
type found struct {
	host      *host    // nil if it is not known
	process   *process // nil if it is not known
	target    *process
	ambiguous bool // several could be meant: none is
}

// find returns the place of a span's resource. With a boot id it is on that
// host; otherwise it is found by its container or pod, else by host and pid.
// Where two could be meant, none is.
func (r *registry) find(id *identity) (f found) {
	if id.boot != "" {
		f.host = r.hosts[id.boot]
	}
	if id.boot == "" || f.host != nil {
		f.process, f.ambiguous = r.findProcess(id)
	}
	switch {
	case f.process != nil:
		f.host = f.process.host
	case f.host == nil && id.boot == "" && !f.ambiguous:
		f.host = r.findHost(id)
	}
	if f.host != nil && !f.ambiguous {
		f.target = f.host.targetOf(id, f.process)
	}
	return f
}

func (r *registry) findProcess(id *identity) (_ *process, ambiguous bool) {
	exact := r.exact[*id]
	for _, l := range id.links() {
		if l.how == 0 || l.how == byHost && id.boot != "" {
			continue
		}
		if exact != nil && id.found(l.how, &exact.id) {
			return exact, false
		}
		p, several := pick(r.index[l], id, l.how)
		if p != nil && l.how == byHost && r.shared(l.b, p.host) {
			return nil, true
		}
		if p != nil || several {
			return p, several
		}
		if l.how == byBoot {
			return nil, false // nobody has that pid: a container has no other
		}
	}
	return nil, false
}

// pick returns the one process that id can mean, where none has that very
// identity: of several the one that still speaks.
func pick(list []*process, id *identity, by how) (_ *process, several bool) {
	var one *process
	n := 0
	for _, p := range list {
		if id.found(by, &p.id) {
			one, n = p, n+1
		}
	}
	if n <= 1 {
		return one, false
	}
	one = nil
	for _, p := range list {
		if !id.found(by, &p.id) || silent(p, list) {
			continue
		}
		if one != nil {
			return nil, true // at once: each that speaks costs a look at all
		}
		one = p
	}
	return one, one == nil
}

// silent reports whether p is dead: it says nothing any more, or its host is
// now in a later boot.
func silent(p *process, others []*process) bool {
	if p.told+silentAfter < p.host.now {
		return true
	}
	for _, o := range others {
		if p.host.over(o.host) {
			return true
		}
	}
	return false
}

// shared reports whether another machine goes by a name of h.
func (r *registry) shared(name string, h *host) bool {
	for _, o := range r.named[name] {
		if o != h && !o.over(h) && !h.over(o) {
			return true
		}
	}
	return false
}

// findHost returns the host of a process that nobody watches, by the name that
// its probes have for it.
func (r *registry) findHost(id *identity) *host {
	for _, name := range [...]string{id.hostID, id.hostName} {
		if name == "" || len(r.named[name]) == 0 {
			continue
		}
		var one *host
		for _, h := range r.named[name] {
			over := false
			for _, o := range r.named[name] {
				over = over || h.over(o)
			}
			switch {
			case over:
			case one != nil:
				return nil
			default:
				one = h
			}
		}
		return one
	}
	return nil
}

// targetOf returns what is known of what the machine does to a process. The
// sidecar has a pid of its own for it: the one that the process's source told,
// else the same if nothing says that it is in a container.
func (h *host) targetOf(id *identity, p *process) *process {
	pid, created := id.number, id.created
	contained := id.contained()
	if p != nil {
		contained = contained || p.id.contained()
		if pid, created = p.id.number, p.id.created; p.outer != 0 {
			pid, contained = p.outer, false
		}
	}
	t := h.targets[pid]
	if t == nil || !sameBirth(created, t.born) || contained && (created == "" || t.born == 0) {
		return nil
	}
	return t
}
