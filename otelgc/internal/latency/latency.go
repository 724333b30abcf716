// Package latency knows how long the requests of the last minutes took, and has one that
// took about as long as the median.
package latency

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/stall"
)

// Bins is the number of ranges of latency: four for each power of two of ns.
const Bins = 64 * 4

// Bin returns the range of a latency.
func Bin(d time.Duration) int {
	v := uint64(max(d, 4))
	top := bits.Len64(v) - 1
	return top*4 + int(v>>(top-2)&3)
}

// UpTo returns where a range ends.
func UpTo(bin int) time.Duration {
	top := bin / 4
	return time.Duration(min(uint64(4+bin%4+1)<<(top-2), math.MaxInt64))
}

// Usual knows the percentiles of the last five to ten minutes, and keeps a request of the
// median. Its methods have one caller.
type Usual struct {
	counts, before [Bins]uint64 // of these five minutes, and of those before
	n, nBefore     uint64
	since          stall.Instant // when these five minutes began
	median         int           // range that has the median; 0 if it is not known yet
	p99            time.Duration
	kept           *strip.Request
	keptAt         stall.Instant
}

const (
	span      = stall.Instant(5 * time.Minute)
	keepEvery = stall.Instant(time.Second)
	lookEvery = 256 // requests; at first with each power of two
)

// Wants reports whether See should have the pieces of a request that took so long and ended
// at a time: it is of the median, and the one that is kept is a second old.
func (u *Usual) Wants(took time.Duration, at stall.Instant) bool {
	return u.median > 0 && Bin(took) == u.median && at >= u.keptAt+keepEvery
}

// See counts a request, and keeps it if Wants wants it.
func (u *Usual) See(r *entry.Request) {
	took, at := r.Share.Total, r.Window.End
	if at >= u.since+span {
		u.before, u.nBefore = u.counts, u.n
		u.counts, u.n, u.since = [Bins]uint64{}, 0, at
	}
	u.counts[Bin(took)]++
	if u.n++; u.n%lookEvery == 0 || u.n&(u.n-1) == 0 {
		u.look()
	}
	if len(r.Pieces) > 0 && u.Wants(took, at) {
		share := *r.Share
		u.kept = &strip.Request{Name: "a median request", Pieces: slices.Clone(r.Pieces), Sums: &share, Coarse: r.Coarse}
		u.keptAt = at
	}
}

// look finds the median and p99.
func (u *Usual) look() {
	n := u.n + u.nBefore
	at := func(part float64) int {
		left := uint64(math.Ceil(part * float64(n)))
		for bin := range u.counts {
			in := u.counts[bin] + u.before[bin]
			if in >= left {
				return bin
			}
			left -= in
		}
		return Bins - 1
	}
	u.median, u.p99 = at(0.5), UpTo(at(0.99))
}

// P99 returns the latency that 99 % of the requests do not exceed, 0 if there are fewer
// than a hundred.
func (u *Usual) P99() time.Duration {
	if u.n+u.nBefore < 100 {
		return 0
	}
	return u.p99
}

// Median returns a request that took about as long as the median, nil if none is known.
// It is not to be changed.
func (u *Usual) Median() *strip.Request { return u.kept }
