//go:build !linux

package jitterprobe

import "time"

// spinThreads returns none: there is no mode Spin here.
func spinThreads() []int { return nil }

// readOwn returns nil: nothing is known of threads here.
func readOwn(int) *Own { return nil }

// compareCPUs compares none: threads cannot be pinned here.
func compareCPUs(float64) (apart time.Duration, compared int, err error) { return 0, 0, nil }
