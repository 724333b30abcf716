package otelgc

import "time"

// giveBack lets go of the memory of the slices: the next one is not soon, and
// tens of megabytes that nobody uses would make the program's collections rarer.
// To grow it anew is garbage, but once per slice.
func (x *exact) giveBack() {
	x.reader, x.free = nil, newFree()
	x.learn.giveBack()
}

// settle pays in for the time since it was last called.
func (x *exact) settle() (wall, cpu time.Duration) {
	now, used := x.clock.Now(), processCPU()
	wall, cpu = now.Sub(x.lastWall), used-x.lastCPU
	x.lastWall, x.lastCPU = now, used
	x.gov.earn(wall, cpu)
	return wall, cpu
}

// wait lets the unseen time pass until rest is over and nobody holds the tracer,
// or a trace handler asks for a slice, or the end (false).
func (x *exact) wait(rest time.Duration) bool {
	until := x.clock.Now().Add(rest)
	for !x.quitting() {
		now := x.clock.Now()
		x.learn.learnUnseen(now)
		left := until.Sub(now)
		if x.held() {
			left = beat
		}
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, beat))
		select {
		case <-x.quit:
		case <-x.wake:
			if x.demand() > 0 {
				timer.Stop()
				return true
			}
		case <-timer.C:
		}
		timer.Stop()
	}
	return false
}

// next says whether a slice may begin now, and how long it is to be at least:
// who asked for one has it go on, see retire. If so, the tracer is claimed against
// those who hold it.
func (x *exact) next() (length time.Duration, wanted bool) {
	x.settle()
	if length = min(x.demand(), shortestSlice); length == 0 {
		if x.gov.overdrawn() {
			return 0, false
		}
		length = x.gov.plan(x.slowest())
	}
	return length, x.claim()
}
