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

// since returns since when a host tells that is not known, by registry.clock.
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
// heard least lately; nil if all of them are about to have their turn: who took turns
// with them would keep them all from it.
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
	refused                 // it told for long enough, and nobody made way
	waits                   // it is about to have told for long enough
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

// stays reports whether h has told for so long that others make way for it.
func (r *registry) stays(h *host) bool { return r.clock-h.since >= staysAfter }
