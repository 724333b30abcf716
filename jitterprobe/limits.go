package jitterprobe

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// Limit says which causes a probe cannot decide here, and what would mend it.
// Their gaps are called by what is left: host.irq_or_steal, host.unknown.
type Limit struct {
	Causes []stall.Cause
	Why    string
	Mend   string // empty if there is none
}

// String says it in one line.
func (l Limit) String() string {
	var b strings.Builder
	for i, c := range l.Causes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.String())
	}
	fmt.Fprintf(&b, " cannot be decided: %s", l.Why)
	if l.Mend != "" {
		b.WriteString(" (mend: " + l.Mend + ")")
	}
	return b.String()
}

// limits says what a classifier with these means cannot decide.
func limits(m Mode, o Options, cgroups error, rights kernel.Rights) []Limit {
	var all []Limit
	if cgroups != nil {
		all = append(all, Limit{[]stall.Cause{stall.HostThrottled}, cgroups.Error(), "mount the cgroup hierarchy of the cpu controller"})
	}
	if m != Spin && m != Runtime {
		return append(all, Limit{
			[]stall.Cause{stall.HostFault, stall.HostIRQ, stall.HostSteal},
			"mode " + m.String() + " does not watch between two wake-ups", "use mode spin",
		})
	}
	if rights.Thread != nil {
		return append(all, Limit{
			[]stall.Cause{stall.HostFault, stall.HostIRQ, stall.HostSteal}, rights.Thread.Error(),
			"allow perf_event_open in the seccomp profile, and set kernel.perf_event_paranoid to 2 or grant CAP_PERFMON",
		})
	}
	if why := cmp.Or(rights.Tracefs, rights.CPU); why != nil {
		all = append(all, Limit{[]stall.Cause{stall.HostIRQ, stall.HostSteal}, why.Error(), interruptsMend(o, rights)})
	}
	return all
}

// interruptsMend says what lets the interrupts be traced, empty if nothing does.
func interruptsMend(o Options, rights kernel.Rights) string {
	const perf = "grant CAP_PERFMON"
	files, points := errors.Is(rights.Tracefs, fs.ErrPermission), errors.Is(rights.CPU, fs.ErrPermission)
	switch {
	case !o.Interrupts:
		return "set Options.Interrupts"
	case files && points:
		return perf + ", and mount tracefs where this process can read it or grant CAP_SYS_ADMIN"
	case files && rights.CPU == nil:
		return "mount tracefs where this process can read it, or grant CAP_SYS_ADMIN"
	case points && rights.Tracefs == nil:
		return perf
	}
	return ""
}
