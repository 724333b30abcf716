package attribution

import (
	"hash/maphash"
	"time"
)

// staysAfter is for how long a host has to tell until those that live make way for
// it. Who tells once takes nobody's place: or a flood of boot ids would take that of
// all processes of a host but one.
const staysAfter = time.Second

// newcomers remembers since when hosts tell that are not known, the few that were
// heard last. One that is lost in a flood is remembered anew when that is over.
type newcomers [1 << 10]newcomer

type newcomer struct {
	boot  uint64 // hashed
	since time.Duration
	heard time.Duration
}

// since returns since when a host tells that is not known, by registry.clock.
func (r *registry) since(boot string) time.Duration {
	sum := maphash.String(r.changes.seed, boot)
	n := &r.newcomers[sum%uint64(len(r.newcomers))]
	if n.boot != sum || r.silent(n.heard) {
		n.boot, n.since = sum, r.clock
	}
	n.heard = r.clock
	return n.since
}

// stays reports whether h has told for so long that others make way for it.
func (r *registry) stays(h *host) bool { return r.clock-h.since >= staysAfter }
