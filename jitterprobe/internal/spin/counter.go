//go:build (amd64 || arm64) && !noasm

package spin

// hasCounter reports whether this build can read a counter at all.
const hasCounter = true

// Now reads the counter. The read is not ordered with the instructions around
// it, which a detector of gaps does not need.
//
//go:noescape
func Now() uint64

// Spin reads the counter up to n times. It returns early, with left > 0, when
// two reads are at least threshold apart: last is the one before the gap, now
// the one after. The first read is compared with prev. When n is used up, left
// is 0 and last and now are the last read.
//
//go:noescape
func Spin(prev, threshold, n uint64) (left, last, now uint64)
