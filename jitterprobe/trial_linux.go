package jitterprobe

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/spin"

	"golang.org/x/sys/unix"
)

// readOwn reads the counts of a thread of this process. It returns nil if they
// cannot be read, or if a signal could come through uncounted.
func readOwn(tid int) *Own {
	if tid == 0 {
		return nil
	}
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/status", taskDir, tid))
	if err != nil {
		return nil
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	blocked, err1 := strconv.ParseUint(fields["SigBlk"], 16, 64)
	pending, err2 := strconv.ParseUint(fields["SigPnd"], 16, 64)
	switches, err3 := strconv.ParseUint(fields["voluntary_ctxt_switches"], 10, 64)
	const never = 1<<(unix.SIGKILL-1) | 1<<(unix.SIGSTOP-1) // cannot be blocked, and cannot be survived unseen
	if err1 != nil || err2 != nil || err3 != nil || blocked|never != ^uint64(0) {
		return nil
	}
	return &Own{Signals: uint64(bits.OnesCount64(pending)), Switches: switches}
}

const (
	maxCompared = 8                     // CPUs, so that a large machine is soon done
	compareFor  = 10 * time.Millisecond // per CPU: thousands of round trips
)

// compareCPUs bounds the difference between the counter of the first allowed
// CPU and those of the others: two threads send the counter to and fro, as in
// NTP, and the shortest round trip counts. Anchors would not tell, as the
// clock itself is made of the counter of the CPU that reads it.
func compareCPUs(nanos float64) (apart time.Duration, compared int, err error) {
	cpus, err := allowedCPUs()
	if err != nil || len(cpus) < 2 {
		return 0, 0, err
	}
	cpus = cpus[:min(len(cpus), maxCompared)]
	ticks := uint64(float64(compareFor) / nanos)
	for _, cpu := range cpus[1:] {
		bound, ok, err := offset(cpus[0], cpu, ticks)
		if err != nil {
			return 0, 0, err
		}
		if ok {
			compared++
			apart = max(apart, time.Duration(float64(bound)*nanos))
		}
	}
	if compared > 0 {
		compared++ // the first one
	}
	return apart, compared, nil
}

// offset returns how far the counters of two CPUs can be apart, in ticks. It
// reports false if the two threads never ran at the same time.
func offset(here, there int, limit uint64) (bound uint64, ok bool, err error) {
	var ask, answer atomic.Uint64
	failed, done := make(chan error), make(chan uint64)
	go onThread(there, func(_ int, err error) {
		failed <- err
		if err != nil {
			return
		}
		for end := spin.Now() + limit; spin.Now() < end; {
			if ask.Load() == 1 {
				answer.Store(spin.Now())
				ask.Store(0)
			}
		}
		ask.Store(2)
	})
	if err := <-failed; err != nil {
		return 0, false, err
	}
	go onThread(here, func(_ int, err error) {
		best := ^uint64(0)
		if err == nil {
			best = roundTrips(&ask, &answer, limit)
		}
		done <- best
	})
	bound = <-done
	return bound, bound != ^uint64(0), nil
}

// roundTrips asks until the other side has gone, and returns the least bound.
func roundTrips(ask, answer *atomic.Uint64, limit uint64) uint64 {
	best := ^uint64(0)
	for end := spin.Now() + limit; spin.Now() < end; {
		sent := spin.Now()
		if !ask.CompareAndSwap(0, 1) {
			return best
		}
		for ask.Load() == 1 && spin.Now() < end {
			continue // the answer is some 100 ticks away
		}
		back := spin.Now()
		if ask.Load() != 0 {
			return best
		}
		half := (back - sent) / 2
		off := int64(answer.Load() - sent - half)
		best = min(best, uint64(max(off, -off))+half)
	}
	return best
}
