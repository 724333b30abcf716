package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// Host is what the machine did to the threads of a process behind the warm-up.
type Host struct {
	recording.Host
	Over time.Duration `json:"over"` // which it was watched for

	first, last recording.Host // what it is counted from, of all
}

// learnHost takes what the machine did to a process so far.
func (b *experimentBuilder) learnHost(v *recording.Host) {
	b.seen(v.At)
	i := slices.IndexFunc(b.Hosts, func(h *Host) bool { return h.PID == v.PID })
	if i < 0 {
		if i = len(b.Hosts); i == maxTargets {
			return
		}
		// The sums began with the watch, which may have been before
		// the recording or in its warm-up: what was before is subtracted.
		b.Hosts = append(b.Hosts, &Host{Host: recording.Host{PID: v.PID}, first: *v})
	}
	h := b.Hosts[i]
	h.last = *v
	if v.At <= b.Start {
		h.first = *v
	}
}

// settle computes what happened behind the warm-up. Nothing is known of a process
// that has one record only.
func (h *Host) settle() {
	h.Host = h.last
	h.Totals = h.last.Since(h.first.Totals)
	h.Over = max(0, h.last.At.Sub(h.first.At))
}

// print writes it, what the process was kept from running by first.
func (h *Host) print(w *textfmt.Page) {
	how := "every switch of its threads was followed"
	if !h.Followed {
		how = "its threads were counted, not followed"
	}
	w.Heading(fmt.Sprintf("WHAT THE MACHINE DID TO PROCESS %d", h.PID), "%s, %s", h.Over, how)
	t := textfmt.Table{Left: []int{2}}
	part := func(name string, d time.Duration, what string) {
		t.Row(name, d, textfmt.Percent(float64(d)/float64(h.Over))+": "+what)
	}
	if h.Followed {
		part("held up", h.Denied, "a thread was ready, and none of the process ran")
		part("paging", h.Paged, "one waited for a page from disk, and none ran")
		part("not decided", h.Mixed, "one was ready while others ran")
		part("covered", h.Covered, "held up, paging, or left alone for certain")
	}
	t.Row("run delay", h.RunDelay, "threads were ready without a CPU, summed over them")
	if d, known := h.Throttled.Get(); known {
		t.Row("throttled", d, "by a quota of its cgroups, summed over CPUs")
	} else {
		t.Row("throttled", "", "not known: its cgroups could not be seen")
	}
	t.Row("stolen", h.Stolen, "of all CPUs, as far as the hypervisor admits it")
	t.Row("faults", h.MajorFaults, "pages came from disk")
	waited := func(p hostcount.Pressure) string {
		return textfmt.Sprintf("for a CPU %s, for memory %s, for disks %s", p.CPU, p.Memory, p.IO)
	}
	t.Row("pressure", "", "of the machine: "+waited(hostcount.Pressure(h.MachinePressure)))
	if p, known := h.GroupPressure.Get(); known {
		t.Row("", "", "of its cgroup: "+waited(p))
	}
	w.Table(&t)
	if h.Dropped > 0 {
		w.Say("%s of the scheduler were lost: that time is not covered", textfmt.Many(h.Dropped, "event"))
	}
}
