//go:build !linux

package jitterprobe

func startPeriodic(_ int, o Options) (engine, string, error) { return startSleeper(o) }
