//go:build !linux

package kernel

import "time"

// Slept reports false: there is no clock to tell.
func Slept() (time.Duration, bool) { return 0, false }

func majorFaults() int64 { return 0 }

// Realtime reports false: it is not known.
func Realtime(int) bool { return false }
