// Command clock measures whether the timestamps of a spinning probe drift away
// from CLOCK_MONOTONIC. The kernel interrupts the probe's CPU a thousand times a
// second, and stamps each interrupt itself: how far into the probe's gap its stamp
// lies is the way into the kernel, and must be the same after a minute. It needs
// root on Linux.
package main
