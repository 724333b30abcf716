//go:build !linux

package kernel

import "time"

// Slept reports false: there is no clock to tell.
func Slept() (time.Duration, bool) { return 0, false }

// Realtime reports false: it is not known.
func Realtime(int) bool { return false }
