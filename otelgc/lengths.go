package otelgc

import (
	"math/bits"
	"time"
)

// lengths counts windows by the bit length of their duration, halved now and then,
// so that slices can be longer than nearly all windows.
type lengths [64]uint64

// note counts a window that took d.
func (l *lengths) note(d time.Duration) {
	i := bits.Len64(uint64(max(d, 0)))
	l[i]++
	if l[i] > 1<<20 {
		for k := range l {
			l[k] /= 2
		}
	}
}

// nearlyAll returns what 99.9 % of the windows take, at most twice too much.
func (l *lengths) nearlyAll() time.Duration {
	var sum, total uint64
	for _, n := range l {
		total += n
	}
	for i, n := range l {
		sum += n
		if sum*1000 >= total*999 {
			return time.Duration(uint64(1)<<i - 1)
		}
	}
	return 0
}
