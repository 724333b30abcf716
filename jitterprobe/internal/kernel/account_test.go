package kernel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

func TestAccount(t *testing.T) {
	const unstated = "left without a record of its CPU"
	micro := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	for _, test := range []struct {
		name string
		tell func(*View)
		want Account
	}{
		{"nothing", func(*View) {}, Account{}},
		{"an interrupt", func(v *View) {
			v.point(110, timerIn, 236)
			v.point(115, timerOut, 236)
			v.point(116, softIn, 1)
			v.point(126, softOut, 1)
		}, Account{Interrupt: micro(15), Interrupts: 2, Longest: "softirq TIMER"}},
		{"one within another", func(v *View) {
			v.point(110, softIn, 3)
			v.point(115, timerIn, 236)
			v.point(118, timerOut, 236)
			v.point(130, softOut, 3)
			v.point(140, nmi, 0)
		}, Account{Interrupt: micro(20), Interrupts: 2, Longest: "softirq NET_RX"}},
		{"an exit that was not traced", func(v *View) {
			v.point(110, timerIn, 236)
			v.point(120, timerIn, 236)
			v.point(122, timerOut, 236)
		}, Account{Interrupt: micro(2), Interrupts: 2, Longest: "local_timer"}},
		{"preempted, by the one that ran longest", func(v *View) {
			v.point(110, timerIn, 236)
			v.point(118, timerOut, 236)
			v.out(120, true)
			v.runs(120, 17, "kworker/3:0")
			v.runs(125, 99, "hog")
			v.runs(190, 7, "otelgc-probe")
			v.in(190, 3)
		}, Account{Preempted: micro(70), Interrupt: micro(8), Switches: 1, Interrupts: 1, Next: 99, NextName: "hog", Longest: "local_timer"}},
		{"preempted by one with real-time priority", func(v *View) {
			v.out(120, true)
			v.runs(120, 17, "kworker/3:0")
			v.runsWith(125, 99, "rival", 0, 98, 120)
			v.runs(190, 7, "otelgc-probe")
			v.in(190, 3)
		}, Account{Preempted: micro(70), Switches: 1, Next: 99, NextName: "rival", Realtime: true}},
		{"and by one of SCHED_DEADLINE", func(v *View) {
			v.out(120, true)
			v.runsWith(120, 99, "rival", 0, -1, 98)
			v.in(190, 3)
		}, Account{Preempted: micro(70), Switches: 1, Next: 99, NextName: "rival", Realtime: true}},
		{"with real-time priority, by one without", func(v *View) {
			v.runsWith(119, 12, "migration/3", 0, 0, 98)
			v.out(120, true)
			v.runsWith(122, 99, "hog", 0, 120, 0)
			v.runsWith(190, 7, "otelgc-probe", 0, 98, 120)
			v.in(190, 3)
		}, Account{Preempted: micro(70), Switches: 1, Next: 99, NextName: "hog", Outranked: true}},
		{"an interrupt of the other thread", func(v *View) {
			v.out(120, true)
			v.point(130, timerIn, 236)
			v.point(140, timerOut, 236)
			v.in(150, 3)
		}, Account{Preempted: micro(30), Switches: 1, Interrupts: 1, Longest: "local_timer"}},
		{"nobody ran instead", func(v *View) {
			v.out(101, true)
			v.runs(101, 0, "swapper/3")
			v.runs(199, 7, "otelgc-probe")
			v.in(199, 3)
		}, Account{Preempted: micro(98), Switches: 1, Idle: true, NextName: "swapper/3"}},
		{"stopped by a signal", func(v *View) {
			v.runsAfter(108, 0, "swapper/3", taskStopped)
			v.out(110, false)
			v.runs(180, 7, "otelgc-probe")
			v.in(180, 3)
		}, Account{Blocked: micro(70), Stopped: micro(70), Switches: 1}},
		{"waited by itself, while another was stopped", func(v *View) {
			v.runsAfter(101, 5, "x", taskTraced)
			v.runsAfter(109, 0, "swapper/3", 1)
			v.out(110, false)
			v.runs(180, 7, "otelgc-probe")
			v.in(180, 3)
		}, Account{Blocked: micro(70), Switches: 1}},
		{"waited for what no signal ends", func(v *View) {
			v.runsAfter(109, 0, "swapper/3", taskUninterruptible)
			v.out(110, false)
			v.in(180, 3)
		}, Account{Blocked: micro(70), Waiting: micro(70), Switches: 1}},
		{unstated, func(v *View) {
			v.out(110, false)
			v.in(180, 3)
		}, Account{Blocked: micro(70), Switches: 1}},
		{"a fault that waited for the disk, and a stop", func(v *View) {
			v.fault(105, faultBegins)
			v.runsAfter(109, 0, "swapper/3", taskUninterruptible)
			v.out(110, false)
			v.in(150, 3)
			v.fault(160, faultMajor)
			v.runsAfter(169, 0, "swapper/3", taskStopped)
			v.out(170, false)
			v.in(190, 3)
		}, Account{Blocked: micro(60), InFault: micro(40), Stopped: micro(20), Fault: micro(15), Switches: 2, Faults: 1, Major: 1}},
		{"a fault that ended in a signal, and one that did not", func(v *View) {
			v.fault(105, faultBegins)
			v.fault(110, faultBegins)
			v.fault(112, faultMinor)
		}, Account{Fault: micro(2), Faults: 2}},
		{"moved", func(v *View) {
			v.out(120, true)
			v.in(150, 5)
		}, Account{Preempted: micro(30), Switches: 1, Moved: true}},
		{"around the gap", func(v *View) {
			v.point(90, timerIn, 236)
			v.point(95, timerOut, 236)
			v.point(210, timerIn, 236)
			v.point(215, timerOut, 236)
		}, Account{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := newView()
			test.tell(v)
			test.want.Thread, test.want.CPU = true, true
			test.want.States = test.name != unstated
			if d := cmp.Diff(test.want, v.Account(gap(100, 200))); d != "" {
				t.Errorf("account (-want +got):\n%s", d)
			}
		})
	}
}

// The record of a move may be lost: then the next one tells where the thread is.
func TestAccountOfAThreadThatIsElsewhere(t *testing.T) {
	for name, r := range map[string]perf.Record{
		"a loss":  {Kind: perf.Loss, At: at(120), CPU: 5, Lost: 1},
		"a fault": {Kind: perf.Sample, At: at(120), CPU: 5, Event: faultBegins},
		"it left": {Kind: perf.Switch, At: at(120), CPU: 5, Out: true},
	} {
		v := newView()
		v.thread.take(&r)
		if v.thread.moved != at(120) {
			t.Errorf("%s on another CPU: the thread moved at %d, want %d", name, v.thread.moved, at(120))
		}
	}
}

// What happens on a CPU says nothing of a thread that was moved off it.
func TestAccountOfAThreadThatWasMoved(t *testing.T) {
	v := newView()
	v.out(120, true)
	v.in(150, 5)
	v.out(400, true)
	v.in(430, 3)
	v.followHome()
	for _, test := range []struct {
		gap stall.Span
		cpu bool
	}{{gap(50, 100), true}, {gap(110, 160), false}, {gap(200, 300), false}, {gap(440, 500), true}} {
		if a := v.Account(test.gap); a.CPU != test.cpu || !a.Thread {
			t.Errorf("from %d: got %+v, want records of the CPU: %v", test.gap.Start-t0, a, test.cpu)
		}
	}
}

// Where no tick is ever seen, silence proves nothing.
func TestAccountNeedsATick(t *testing.T) {
	v := newView()
	late := stall.Span{Start: t0.Add(time.Minute), End: t0.Add(time.Minute + time.Millisecond)}
	if a := v.Account(late); a.CPU || !a.Thread {
		t.Errorf("a minute without a tick: got %+v", a)
	}
}
