package stall

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// Clock reads the shared clock. It is a value, made once by [NewClock] and
// copied freely; reading it costs about as much as [time.Since].
type Clock struct {
	base   time.Time     // has a monotonic reading
	offset Instant       // the Instant of base
	err    time.Duration // bound of the error of offset
	shared bool
	local  time.Duration // what this time namespace adds to CLOCK_MONOTONIC
}

// NewClock relates this process's monotonic clock to CLOCK_MONOTONIC of the
// initial time namespace. Where the system has no such clock the instants are
// only good within this process, and [Clock.Shared] is false.
//
// A process in another time namespace (time_namespaces(7)) has its offset
// applied; if the offset cannot be read, NewClock refuses. So it does in a bubble
// of testing/synctest, with [ErrNotSupported]: the time there is not the machine's.
func NewClock() (Clock, error) {
	if !hasMonotonic(time.Now()) {
		return Clock{}, fmt.Errorf("%w: in a bubble of testing/synctest there is no clock of the machine", ErrNotSupported)
	}
	return newClock()
}

func hasMonotonic(t time.Time) bool { return t != t.Round(0) }

// Now returns the current instant.
func (c Clock) Now() Instant { return c.offset.Add(time.Since(c.base)) }

// At returns the instant of t. It reports false if t has no monotonic reading
// (time.Unix, UTC, Truncate and Round strip it): such a t is wall time, and has
// to be related with [Clock.Wall].
func (c Clock) At(t time.Time) (Instant, bool) {
	if !hasMonotonic(t) {
		return 0, false
	}
	return c.offset.Add(t.Sub(c.base)), true
}

// Shared reports whether instants are comparable between processes.
func (c Clock) Shared() bool { return c.shared }

// Namespace returns what this process's time namespace adds to CLOCK_MONOTONIC.
// What a process reads without a Clock, such as the instants in its own
// execution trace, is later by that than the Instant.
func (c Clock) Namespace() time.Duration { return c.local }

// Error bounds the error of an Instant of this clock against the kernel's.
func (c Clock) Error() time.Duration { return c.err }

// WallOffset relates wall time to the shared clock at one instant:
// wall (Unix nanoseconds) = instant + Offset, within Error.
type WallOffset struct {
	At     Instant
	Offset time.Duration
	Error  time.Duration
}

// Time returns the wall time of t.
func (w WallOffset) Time(t Instant) time.Time {
	return time.Unix(0, int64(t)+int64(w.Offset))
}

// Wall measures the offset of wall time now. It changes whenever the wall
// clock is stepped or slewed: measure again, never store wall time.
func (c Clock) Wall() WallOffset {
	best := WallOffset{Error: time.Hour}
	for range 4 {
		before := c.Now()
		wall := time.Now().UnixNano()
		after := c.Now()
		if e := after.Sub(before)/2 + 1; e < best.Error {
			mid := before + (after-before)/2
			best = WallOffset{At: mid, Offset: time.Duration(wall - int64(mid)), Error: e}
		}
	}
	return best
}

// ErrNotSupported says that this system cannot do what was asked.
var ErrNotSupported = errors.New("not supported")

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// BootID returns the kernel's id of this boot: the name of the epoch of every
// [Instant]. It is not namespaced, so a container reads the host's. Snapshots
// of one virtual machine share it; host.id goes with it.
//
// Elsewhere than on Linux the error is [ErrNotSupported].
func BootID() (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("read boot id: %w on %s (no %s)", ErrNotSupported, runtime.GOOS, bootIDPath)
	}
	text, err := os.ReadFile(bootIDPath)
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	id := string(bytes.TrimSpace(text))
	if len(id) != 36 {
		return "", fmt.Errorf("read boot id: %s holds %q, want a UUID", bootIDPath, id)
	}
	return id, nil
}
