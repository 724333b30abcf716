package attribution

import (
	"container/list"
	"hash/maphash"
	"slices"
	"time"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/stall"
)

// mostLinked bounds how many processes one link leads to, such as those of one
// boot that have pid 1 in their containers: each search for one looks at them all.
const mostLinked = 1024

// registry knows the hosts and processes that were heard, and bounds them. It is
// guarded by the Attributor's lock.
type registry struct {
	config  Config
	lost    *lost
	memory  budget.Memory
	hosts   map[string]*host // by epoch
	copied  map[string]bool  // boot ids that several machines share
	recent  list.List        // of *host, the one heard last in front
	exact   map[wire.Identity]*process
	index   map[wire.Link][]*process
	named   map[string][]*host    // by host.id, and by host.name, as probes say
	tracing map[*process]struct{} // that have traced requests
	version uint64                // changes with what can be found
	changes changes               // the same, by what it goes by

	processes int
	began     time.Time     // the first tick; zero before
	clock     time.Duration // since then
	refused   refusal       // the last
	dying     *host         // of which the last made way that had fallen silent
	newcomers newcomers
}

func (r *registry) init(c Config, lost *lost, b *budget.Budget) {
	r.config, r.lost = c, lost
	r.memory = budget.Memory{Budget: b, Wait: stall.Instant(c.Wait), Back: stall.Instant(c.Wait + budget.LookBack)}
	r.copied = make(map[string]bool)
	r.hosts, r.exact = make(map[string]*host), make(map[wire.Identity]*process)
	r.tracing = make(map[*process]struct{})
	r.index, r.named = make(map[wire.Link][]*process), make(map[string][]*host)
	r.changes.seed = maphash.MakeSeed()
}

// of returns whose event e is, where its stalls go, and the clocks of its sender. The
// process is nil for those of the machine, the log if there is no room for one.
func (r *registry) of(e *wire.Event) (*host, *process, *senders.Log, *senders.Clocks) {
	h := r.host(e.Sender.Boot)
	if h == nil {
		return nil, nil, nil, nil
	}
	if wire.IsProbe(e.Origin) && r.speaksForHost(&e.Sender) {
		l, c := r.probe(h, e)
		return h, nil, l, c
	}
	p := r.process(h, e)
	if p == nil {
		return h, nil, nil, nil
	}
	p.clocks.Heard = r.clock
	h.processes.MoveToFront(p.place)
	p.heard = r.clock
	if p.runtime[e.Origin] == nil {
		if r.room(senders.LogBytes, h, p) {
			p.runtime[e.Origin] = senders.NewLog(e.Origin, &r.memory)
			r.changed(p) // with otelgc in it, it goes by no other names
		} else if p.runtime == (logs{}) {
			r.forget(p) // it would be known, and nothing of it
		}
	}
	return h, p, p.runtime[e.Origin], &p.clocks
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
		if !r.room(hostBytes+wire.TextBytes+len(boot), &host{since: since}, nil) {
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
func (r *registry) process(h *host, e *wire.Event) *process {
	if e.Origin == stall.TargetWatch {
		return r.target(h, e)
	}
	if e.Sender.PID == 0 {
		return nil // without a pid it is of no process
	}
	if p := r.exact[e.Sender]; p != nil {
		return p
	}
	links := e.Sender.Links()
	for _, l := range links {
		if len(r.index[l]) >= mostLinked {
			return nil
		}
	}
	p := r.add(h, &process{host: h, id: e.Sender})
	if p != nil {
		r.exact[p.id] = p
		for _, l := range links {
			if l.Kind != 0 {
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
func (r *registry) target(h *host, e *wire.Event) *process {
	n := e.TargetPID
	if n == 0 {
		return nil
	}
	p := h.targets[n]
	if p != nil && p.createdTicks != 0 && e.TargetCreated != 0 && p.createdTicks != e.TargetCreated {
		if !p.silent() {
			r.lost.events[errConflict.Error()]++ // and it would still be there
		}
		r.forget(p) // the pid was used again
		p = nil
	}
	if p == nil {
		if p = r.add(h, &process{host: h, outer: n, target: true, id: wire.Identity{HostName: e.Sender.HostName}}); p == nil {
			return nil
		}
		h.targets[n] = p
	}
	if e.TargetCreated != 0 && p.createdTicks != e.TargetCreated {
		p.createdTicks = e.TargetCreated
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
	p.pauses.Memory = &r.memory
	p.traced.Memory, p.traced.Tally = &r.memory, &r.lost.traced
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

// host is what is known of one boot of one machine.
type host struct {
	boot   string  // and the host id, of a copy: its epoch
	probes []probe // those that speak for it; replaced and never changed, as joins may hold it

	processes list.List          // of *process, the one heard last in front
	targets   map[int32]*process // by the pid that the sidecar sees
	since     time.Duration      // it was heard, by registry.clock
	heard     time.Duration      // the last time, likewise
	place     *list.Element      // in registry.recent
	counter   counter            // of registry.changes
	witness   witness            // of its clock
	last      testimony          // of its clock, by any sender
}

func newHost(boot string) *host {
	h := &host{boot: boot, targets: make(map[int32]*process)}
	h.processes.Init()
	return h
}

// testimony is what a sender said last of the wall clock of its host.
type testimony struct {
	stall.WallOffset
	by *senders.Clocks
}

// disagrees takes in what a sender says of the wall clock. It reports whether another
// sender reported a different clock last: this is counted, and changes no answer.
func (h *host) disagrees(by *senders.Clocks, s stall.WallOffset) bool {
	before := h.last
	h.last = testimony{s, by}
	return before.by != nil && before.by != by && senders.ClocksDiffer(s, before.WallOffset)
}

// logs holds the sources of a process.
type logs [stall.NumOrigins]*senders.Log

// process is what is known of one process, or of what the machine does to one.
type process struct {
	host         *host
	id           wire.Identity  // of a target, no more than what the sidecar calls the host
	outer        int32          // the pid that the sidecar sees, 0 if it has not reported
	createdTicks uint64         // of a target: clock ticks since boot, 0 if not reported
	target       bool           // it is in host.targets
	cgroups      []uint64       // as it reported; never changed, but replaced
	runtime      logs           // of a target, TargetWatch alone
	clocks       senders.Clocks // as its sources report them
	heard        time.Duration  // the last time, by registry.clock
	pauses       senders.PauseLog
	traced       senders.TracedLog
	place        *list.Element // in host.processes
}

// inside reports whether a source in the process itself has reported on it. The trace may be
// read by the sidecar, which says which process it watches.
func (p *process) inside() bool {
	return p.runtime[stall.GCWatch] != nil || p.runtime[stall.GoTrace] != nil && p.outer == 0
}

// trace keeps a traced request. A process with otelgc in it, which always watches its cycles, has
// none, as its spans bring shares of their own: somebody else has its name.
func (r *registry) trace(e *wire.Event) error {
	p := r.exact[e.Sender]
	if p == nil {
		var l *senders.Log
		if _, p, l, _ = r.of(e); l == nil {
			return errRoom
		}
	}
	if p.runtime[stall.GCWatch] != nil {
		return errConflict
	}
	if !p.clocks.Expect(e.Traced.Start, r.clock) {
		return errTime
	}
	if !p.traced.Note(e.Traced, r.clock) {
		r.lost.duplicates++
	}
	r.tracing[p] = struct{}{}
	return nil
}

// silent reports whether nothing came of p for so long before others of its host were
// heard that it has ended, or cannot send. The order in which things come is all that shows it.
func (p *process) silent() bool { return p.host.heard-p.heard > time.Duration(senders.SilentAfter) }

// contained reports whether the process is in a container, as far as is known:
// it says so itself, or the sidecar sees it by another pid than its own.
func (p *process) contained() bool {
	return p.id.Contained() || p.outer != 0 && p.outer != p.id.PID
}

// answers reports whether p, which the link led to, can be the process of id. A pid
// proves nothing where there may be several of one number, and nothing says which
// containers have pids of their own: a process with a shell before it is number 7
// there, as others are.
func (p *process) answers(id *wire.Identity, by wire.LinkKind) bool {
	switch {
	case id.Contradicts(&p.id):
		return false
	case by == wire.ByInstance:
		// On two machines it is two processes, whatever they call themselves.
		return id.SameInstance(&p.id) && (id.Contained() || p.contained() || !wire.Differ(id.HostID, p.id.HostID))
	case by == wire.ByContainer, by == wire.ByPod, id.Proves(&p.id):
		return true
	}
	return !id.Contained() && !p.contained() && !(p.inside() && id.Strange(&p.id))
}

// move takes in the cgroups of a process, if there is room for them.
func (p *process) move(cgroups []uint64, m *budget.Memory) {
	if len(cgroups) == 0 || slices.Equal(cgroups, p.cgroups) {
		return
	}
	switch more := (len(cgroups) - len(p.cgroups)) * cgroupBytes; {
	case more <= 0:
		m.Forget(-more)
	case !m.Grow(more):
		m.Crowded++
		return
	}
	p.cgroups = cgroups
}

// sameCreation reports whether a process made at created, as otelgc reports it, may
// be the one made so many clock ticks after the boot: the boot is a whole second
// there, so what is left of one is the same in both.
func sameCreation(created string, ticks uint64) bool {
	const userHZ = 100 // of /proc on every Linux
	if created == "" || ticks == 0 {
		return true
	}
	t, err := time.Parse(time.RFC3339Nano, created)
	return err != nil || uint64(t.Nanosecond())/(1e9/userHZ) == ticks%userHZ
}

// keptProbes is how many probes of one kind are known of a host: one that began
// anew, and those of pods with one of their own.
const keptProbes = 4

// probe is what one probe of a machine said. Several senders may run one of a
// kind, and what one has seen says nothing of what another has sent.
type probe struct {
	id wire.Identity // of its sender
	*senders.Log
	clocks *senders.Clocks
}

// probe returns the log of the probe that an event is of, nil if there is no
// room for it.
func (r *registry) probe(h *host, e *wire.Event) (*senders.Log, *senders.Clocks) {
	for _, p := range h.probes {
		if p.Origin() == e.Origin && p.id == e.Sender {
			p.clocks.Heard = r.clock
			return p.Log, p.clocks
		}
	}
	if !r.room(probeBytes+e.Sender.Weight()+senders.LogBytes, h, nil) {
		return nil, nil
	}
	p := probe{e.Sender, senders.NewLog(e.Origin, &r.memory), &senders.Clocks{Heard: r.clock}}
	r.unname(h)
	h.probes = append(r.spare(h, e.Origin), p)
	r.name(h)
	return p.Log, p.clocks
}

// weight returns what a probe takes.
func (p *probe) weight() int { return probeBytes + p.id.Weight() + p.Bytes }

// spare returns the probes of a host but for those of a kind that have been
// silent for so long that no span can want them, and if there are too many the
// one that was silent longest.
func (r *registry) spare(h *host, kind stall.Origin) []probe {
	rest := make([]probe, 0, len(h.probes)+1) // joins may hold the old ones
	oldest, n := -1, 0
	for _, p := range h.probes {
		if p.Origin() == kind {
			if r.clock-p.clocks.Heard > time.Duration(senders.SilentAfter)+r.config.Wait {
				r.memory.Forget(p.weight())
				continue
			}
			if n++; oldest < 0 || p.clocks.Heard < rest[oldest].clocks.Heard {
				oldest = len(rest)
			}
		}
		rest = append(rest, p)
	}
	if n >= keptProbes {
		r.lost.processesForgotten++ // it may well be alive
		r.memory.Forget(rest[oldest].weight())
		rest = slices.Delete(rest, oldest, oldest+1)
	}
	return rest
}

// forgetProbe forgets what one probe of a host said.
func (r *registry) forgetProbe(h *host, l *senders.Log) {
	r.unname(h)
	rest := make([]probe, 0, len(h.probes)) // joins may hold the old ones
	for _, p := range h.probes {
		if p.Log != l {
			rest = append(rest, p)
			continue
		}
		r.memory.Forget(p.weight())
	}
	h.probes = rest
	r.name(h)
}

// name files a host under what its probes call it.
func (r *registry) name(h *host) {
	for _, name := range h.names() {
		r.named[name] = append(r.named[name], h)
		r.changes.count(nameLink(name))
	}
	r.version++
}

func (r *registry) unname(h *host) {
	for _, name := range h.names() {
		r.named[name] = without(r.named[name], h)
		if len(r.named[name]) == 0 {
			delete(r.named, name)
		}
		r.changes.count(nameLink(name))
	}
}

// names returns what the probes call the host, each name once.
func (h *host) names() (all []string) {
	for _, p := range h.probes {
		for _, name := range [...]string{p.id.HostID, p.id.HostName} {
			if name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}
