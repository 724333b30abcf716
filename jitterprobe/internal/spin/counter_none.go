//go:build !(amd64 || arm64) || noasm

package spin

// hasCounter reports whether this build can read a counter at all.
const hasCounter = false

// Now returns 0: there is no counter.
func Now() uint64 { return 0 }

// Spin returns at once: there is no counter.
func Spin(prev, threshold, n uint64) (left, last, now uint64) { return 0, prev, prev }
