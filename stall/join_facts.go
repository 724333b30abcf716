package stall

import "math/bits"

// fact is something that is true of an instant of a window. The first facts are
// the causes: the certain claim of that cause, for host causes by an interval
// that applies and is not of scope target.
type fact uint8

const (
	hostCauses = fact(HostUnknown - HostThrottled + 1)

	target       = fact(NumCauses)         // + cause - HostThrottled: an interval of scope target applies
	coincident   = target + hostCauses     // + cause - HostThrottled: an interval does not apply
	inHandler    = coincident + hostCauses // between Start and End
	seen         = inHandler + 1
	targetSeen   = inHandler + 2
	running      = inHandler + 3
	runnable     = inHandler + 4
	parked       = inHandler + 5
	woke         = inHandler + 6 // a stop, and a parking that ended in it or right after
	doubtfulStop = inHandler + 7 // a stop covers it within its slack
	doubtfulOwn  = inHandler + 8
	doubtfulHost = inHandler + 9
	stopper      = inHandler + 10 // the goroutine stops the world
	numFacts     = inHandler + 11
)

// facts is a set of facts.
type facts uint64

const (
	stopFacts  facts = 1<<GCPause | 1<<RuntimeSuspension | 1<<RuntimeUnknown
	ownFacts   facts = 1<<GCAssist | 1<<GCSweep | 1<<GCWait | 1<<SchedGC | 1<<Sched
	hostFacts  facts = (1<<hostCauses - 1) << HostThrottled
	claimFacts       = stopFacts | ownFacts | hostFacts

	// What an interval of scope target outranks.
	belowTarget facts = 1<<GCAssist | 1<<GCSweep | 1<<SchedGC | 1<<Sched | hostFacts
)

func (m facts) has(f fact) bool { return m>>f&1 != 0 }

// asleep reports whether the goroutine was parked by its own doing. Where the
// track contradicts itself the goroutine was awake.
func (m facts) asleep() bool {
	return m&(1<<inHandler|1<<parked|1<<running|1<<runnable) == 1<<inHandler|1<<parked
}

// ran reports whether the goroutine was on a CPU while it did not hold the world
// stopped. No stop delays it then: it has yet to reach it.
func (m facts) ran() bool {
	return m&(1<<inHandler|1<<parked|1<<running|1<<runnable|1<<stopper) == 1<<inHandler|1<<running
}

// targets returns the host causes that intervals of scope target claim.
func (m facts) targets() facts { return m >> target << HostThrottled & hostFacts }

// applying returns the host causes of which an interval applies.
func (m facts) applying() facts { return m&hostFacts | m.targets() }

// certain returns the cause that is charged for certain, or NoCause.
func (m facts) certain() Cause {
	claims := m & claimFacts
	targets := m.targets()
	switch {
	case m.asleep():
		claims, targets = claims&ownFacts, 0
	case m.ran():
		claims &^= stopFacts
	}
	if targets != 0 {
		claims = claims&^belowTarget | targets
	}
	return claims.first()
}

// doubtful reports whether an interval may or may not have cost the time.
func (m facts) doubtful() bool {
	if m.asleep() {
		return m.has(doubtfulOwn) || m.has(woke)
	}
	if m.ran() {
		m &^= 1 << doubtfulStop
	}
	return m&(1<<doubtfulOwn|1<<doubtfulStop|1<<doubtfulHost) != 0
}

// first returns the first cause of a set of causes, or NoCause.
func (m facts) first() Cause {
	if m == 0 {
		return NoCause
	}
	return Cause(bits.TrailingZeros64(uint64(m)))
}
