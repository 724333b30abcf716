//go:build !linux || !(amd64 || arm64) || noasm

package sysstate

// Supported reports whether this build can do it.
const Supported = false

// Nanotime returns 0: there is no such clock in this build.
func Nanotime() int64 { return 0 }

// Spin returns at once.
func Spin(prev, threshold, n uint64) (left, last, now, out uint64) { return 0, prev, prev, prev }

// Sleep returns at once.
func Sleep(deadline int64) (woken, out int64) { return deadline, deadline }
