package attribution

import (
	"container/list"
	"time"
)

// host is what is known of one boot of one machine.
type host struct {
	boot   string  // and the host id, of a copy: its epoch
	probes []probe // those that speak for it; never changed, as who joins may hold it

	processes list.List          // of *process, the one heard last in front
	targets   map[int32]*process // by the pid that the sidecar sees
	since     time.Duration      // it was heard, by registry.clock
	heard     time.Duration      // the last time, likewise
	place     *list.Element      // in registry.recent
	counter   counter            // of registry.changes
	witness   witness            // of its clock
	last      testimony          // of its clock, by anybody
}

func newHost(boot string) *host {
	h := &host{boot: boot, targets: make(map[int32]*process)}
	h.processes.Init()
	return h
}

// testimony is what a sender said last of the wall clock of its host.
type testimony struct {
	relation
	by *clocks
}

// disagrees takes in what a sender says of the wall clock. It reports whether another
// sender told a different clock last: this is counted, and changes no answer.
func (h *host) disagrees(by *clocks, s relation) bool {
	before := h.last
	h.last = testimony{s, by}
	return before.by != nil && before.by != by && s.differs(before.relation)
}
