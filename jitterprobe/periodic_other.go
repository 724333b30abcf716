//go:build !linux

package jitterprobe

func startPeriodic(_ int, o Options) (engine, error) { return startSleeper(o) }
