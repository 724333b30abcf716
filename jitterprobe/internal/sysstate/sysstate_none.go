//go:build !linux || !(amd64 || arm64) || noasm

package sysstate

import "time"

// Supported reports whether this build can do it.
const Supported = false

var start = time.Now()

// Nanotime returns the time since the program began.
func Nanotime() int64 { return int64(time.Since(start)) }

// Spin returns at once.
func Spin(prev, threshold, n uint64) (left, last, now, out uint64) { return 0, prev, prev, prev }

// Sleep sleeps until deadline, of [Nanotime]. What the machine and what the runtime took
// is not known apart.
func Sleep(deadline int64) (woken, out int64) {
	time.Sleep(time.Duration(deadline - Nanotime()))
	now := Nanotime()
	return now, now
}
