// Package cpuclock has the kernel interrupt a CPU and say when it did, by
// CLOCK_MONOTONIC as it reads it itself: instants that no probe had a part in.
package cpuclock
