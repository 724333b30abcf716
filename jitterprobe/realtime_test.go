package jitterprobe

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// newLimited returns what finds the gaps of a thread of real-time priority that has
// to leave 50 ms of each period to others.
func newLimited(period time.Duration) realtime {
	return realtime{tid: 1, share: share{period, 50 * time.Millisecond}, fixed: func(int) bool { return true }}
}

// unknownAt returns a gap that nobody has explained yet.
func unknownAt(start, length time.Duration) Gap {
	g := unknown(length)
	g.Start = stall.Instant(time.Hour + start)
	g.End = g.Start.Add(length)
	return g
}

func noAccount(*Gap) kernel.Account { return kernel.Account{} }

func TestRealtimeLimitNeedsItsPattern(t *testing.T) {
	const ms = time.Millisecond
	gap := unknownAt
	gaps := []Gap{gap(0, 51*ms), gap(300*ms, 20*ms), gap(1004*ms, 54*ms), gap(1500*ms, 50*ms), gap(3000*ms, 50*ms), gap(4008*ms, 59*ms), gap(5008*ms, 61*ms), gap(6008*ms, 44*ms)}
	r := newLimited(time.Second)
	r.settle(gaps, noAccount)
	for i, want := range []stall.Cause{stall.HostUnknown, stall.HostUnknown, stall.HostThrottled, stall.HostUnknown, stall.HostUnknown, stall.HostThrottled, stall.HostUnknown, stall.HostUnknown} {
		if gaps[i].Cause != want {
			t.Errorf("gap %d: got %v, want %v", i, gaps[i].Cause, want)
		}
	}
	r.fixed = func(int) bool { return false }
	again := []Gap{gap(5008*ms, 50*ms)}
	if r.settle(again, noAccount); again[0].Cause != stall.HostUnknown {
		t.Errorf("without real-time priority: got %v", again[0].Cause)
	}
	none := realtime{tid: 1, fixed: func(int) bool { return true }}
	short := []Gap{gap(0, 6*ms), gap(0, 6*ms)}
	if none.settle(short, noAccount); short[1].Cause != stall.HostUnknown {
		t.Errorf("without a limit: got %v", short[1].Cause)
	}
}

// A limit makes a thread wait for its CPU while no other of its kind has it. What is
// known to be something else is not the limit's, whatever its pattern.
func TestRealtimeLimitNeedsAWait(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		cause   stall.Cause
		witness Witness
		account kernel.Account
		want    bool
	}{
		{"nobody knows", stall.HostUnknown, NoWitness, kernel.Account{}, true},
		{"all is known, and nothing decided", stall.HostUnknown, NoWitness, kernel.Account{Thread: true}, false},
		{"an idle CPU", stall.HostThrottled, IdleCPU, kernel.Account{}, true},
		{"a wait by the sums", stall.HostPreempted, RunDelay, kernel.Account{}, true},
		{"preempted, nobody knows by whom", stall.HostPreempted, SwitchRecord, kernel.Account{Thread: true}, true},
		{"preempted by another of real-time priority", stall.HostPreempted, SwitchRecord, kernel.Account{Thread: true, NextName: "rival", Realtime: true}, false},
		{"preempted, without real-time priority", stall.HostPreempted, SwitchRecord, kernel.Account{Thread: true, NextName: "rival"}, false},
		{"stopped", stall.HostSuspended, StopRecord, kernel.Account{}, false},
		{"a fault", stall.HostFault, FaultRecord, kernel.Account{}, false},
		{"a sleep", stall.HostSuspended, BootClock, kernel.Account{}, false},
		{"a quota", stall.HostThrottled, CgroupStat, kernel.Account{}, false},
		{"a hypervisor", stall.HostSteal, Silence, kernel.Account{}, false},
		{"never switched out", stall.HostIRQOrSteal, Remainder, kernel.Account{}, false},
		{"the runtime", stall.RuntimeUnknown, RuntimeDoor, kernel.Account{}, false},
	} {
		r := newLimited(500 * ms)
		gaps := []Gap{unknownAt(0, 51*ms), unknownAt(500*ms, 51*ms)}
		for i := range gaps {
			gaps[i].Cause, gaps[i].Evidence = test.cause, Evidence{Witness: test.witness}
		}
		r.settle(gaps, func(*Gap) kernel.Account { return test.account })
		g, first := gaps[1], gaps[0]
		switch {
		case first.Cause != test.cause:
			t.Errorf("%s: the first of two: got %v, want %v", test.name, first.Cause, test.cause)
		case !test.want && (g.Cause != test.cause || g.Evidence.Witness != test.witness):
			t.Errorf("%s: got %v, %q, want %v as it was", test.name, g.Cause, g.Evidence, test.cause)
		case test.want && (g.Cause != stall.HostThrottled || g.Evidence.String() != "real-time limit: 51ms of every 500ms"):
			t.Errorf("%s: got %v, %q, want the limit of every 500ms", test.name, g.Cause, g.Evidence)
		}
	}
}

// Who had the CPU says it of each gap, whatever its length and the time between two.
func TestRealtimeLimitByWhoHadTheCPU(t *testing.T) {
	const us = time.Microsecond
	for _, test := range []struct {
		name    string
		account kernel.Account
		want    stall.Cause
	}{
		{"one without real-time priority", kernel.Account{Thread: true, Preempted: 340 * us, NextName: "kworker/1:0", Outranked: true}, stall.HostThrottled},
		{"one with it", kernel.Account{Thread: true, Preempted: 340 * us, NextName: "migration/1", Realtime: true}, stall.HostPreempted},
		{"neither has it", kernel.Account{Thread: true, Preempted: 340 * us, NextName: "kworker/1:0"}, stall.HostPreempted},
		{"moved away", kernel.Account{Thread: true, Preempted: 340 * us, NextName: "kworker/1:0", Outranked: true, Moved: true}, stall.HostPreempted},
	} {
		g := unknownAt(0, 350*us)
		g.preempted(&test.account)
		gaps := []Gap{g}
		r := realtime{tid: 1} // of a kernel whose share is not known
		r.settle(gaps, func(*Gap) kernel.Account { return test.account })
		if gaps[0].Cause != test.want {
			t.Errorf("%s: got %v, %q, want %v", test.name, gaps[0].Cause, gaps[0].Evidence, test.want)
		}
	}
}
