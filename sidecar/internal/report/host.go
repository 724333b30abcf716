package report

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// Hosted is what the machine did to the threads of a process behind the warm-up.
type Hosted struct {
	recording.Host
	Over time.Duration // which it was watched for

	first, last recording.Host // what it is counted from, of all
}

// learnHost takes what the machine did to a process so far.
func (b *experimentBuilder) learnHost(v *recording.Host) {
	b.seen(v.At)
	var h *Hosted
	for i := range b.Hosts {
		if b.Hosts[i].PID == v.PID {
			h = b.Hosts[i]
		}
	}
	if h == nil {
		if len(b.Hosts) == maxTargets {
			return
		}
		// What was before is no part of it: the sums are those since somebody
		// watched, who may have begun before the recording or in its warm-up.
		h = &Hosted{Host: recording.Host{PID: v.PID}, first: *v}
		b.Hosts = append(b.Hosts, h)
	}
	h.last = *v
	if v.At <= b.Results.Start {
		h.first = *v
	}
}

// settleHosts computes what happened behind the warm-up. Of a process that was told
// of once only nothing is known.
func (b *experimentBuilder) settleHosts() {
	for _, h := range b.Hosts {
		first, last := &h.first, &h.last
		less := func(a, b time.Duration) time.Duration { return max(0, a-b) }
		h.Host = recording.Host{
			PID: last.PID, Followed: last.Followed, At: last.At,
			RunDelay: less(last.RunDelay, first.RunDelay), Denied: less(last.Denied, first.Denied), Paged: less(last.Paged, first.Paged),
			Undecided: less(last.Undecided, first.Undecided), Covered: less(last.Covered, first.Covered),
			Throttled: hostcount.Since(last.Throttled, first.Throttled), Stolen: less(last.Stolen, first.Stolen),
			MajorFaults: last.MajorFaults - min(first.MajorFaults, last.MajorFaults),
			Pressure:    less(last.Pressure, first.Pressure), PressureMemory: less(last.PressureMemory, first.PressureMemory),
			PressureIO: less(last.PressureIO, first.PressureIO), Dropped: last.Dropped - min(first.Dropped, last.Dropped),
		}
		if p, known := last.CgroupPressure.Get(); known {
			h.CgroupPressure = gc.Known(p.Since(first.CgroupPressure.Or(hostcount.Pressure{})))
		}
		h.Over = max(0, last.At.Sub(first.At))
	}
	b.Hosts = slices.DeleteFunc(b.Hosts, func(h *Hosted) bool { return h.Over == 0 })
}

// print writes it, what the process was kept from running by first.
func (h *Hosted) print(w io.Writer) {
	how := "every switch of its threads was followed"
	if !h.Followed {
		how = "its threads were counted, not followed"
	}
	textfmt.Heading(w, fmt.Sprintf("WHAT THE MACHINE DID TO PROCESS %d", h.PID), fmt.Sprintf("%s, %s", textfmt.Length(h.Over), how))
	t := textfmt.Table{Left: map[int]bool{2: true}}
	share := func(name string, d time.Duration, what string) {
		t.Row(name, textfmt.Length(d), fmt.Sprintf("%s: %s", percent(float64(d)/float64(h.Over)), what))
	}
	if h.Followed {
		share("held up", h.Denied, "a thread was ready, and none of the process ran")
		share("paging", h.Paged, "one waited for a page from disk, and none ran")
		share("not decided", h.Undecided, "one was ready while others ran")
		share("covered", h.Covered, "held up, paging, or left alone for certain")
	}
	t.Row("run delay", textfmt.Length(h.RunDelay), "threads were ready without a CPU, summed over them")
	if d, known := h.Throttled.Get(); known {
		t.Row("throttled", textfmt.Length(d), "by a quota of its cgroups, summed over CPUs")
	} else {
		t.Row("throttled", "", "not known: its cgroups could not be seen")
	}
	t.Row("stolen", textfmt.Length(h.Stolen), "of all CPUs, as far as the hypervisor admits it")
	t.Row("faults", textfmt.Count(h.MajorFaults), "pages came from disk")
	t.Row("pressure", "", "of the machine: "+waited(hostcount.Pressure{CPU: h.Pressure, Memory: h.PressureMemory, IO: h.PressureIO}))
	if p, known := h.CgroupPressure.Get(); known {
		t.Row("", "", "of its cgroup: "+waited(p))
	}
	t.Print(w)
	if h.Dropped > 0 {
		fmt.Fprintf(w, "  %s of the scheduler were lost: that time is not covered\n", textfmt.Many(h.Dropped, "event"))
	}
}

// waited says for how long somebody waited, and for what.
func waited(p hostcount.Pressure) string {
	return fmt.Sprintf("for a CPU %s, for memory %s, for disks %s", textfmt.Length(p.CPU), textfmt.Length(p.Memory), textfmt.Length(p.IO))
}
