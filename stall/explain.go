package stall

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// part is one owner of a window's time.
type part struct {
	name string
	d    time.Duration
}

// Explain says in one sentence where the time of the window went, longest part
// first, such as
//
//	52.1 ms: 38.2 ms waiting for a CPU (sched), 12.4 ms stopped for garbage collection (gc.pause); 1.5 ms not seen
//
// At most four owners are named; what is left is "other". In fidelity Cycle the
// stops are "at most". Time that was not watched is always named.
func (s *Share) Explain() string {
	var parts []part
	for c := GCPause; c < NumCauses; c++ {
		if s.Charged[c] > 0 {
			parts = append(parts, part{s.words(c), s.Charged[c]})
		}
	}
	parts = appendPart(parts, "in the program's own doing (app)", s.App)
	parts = appendPart(parts, "in the program or the machine under it (app_or_host)", s.AppOrHost)
	parts = appendPart(parts, "of stalls whose place or end is not certain (uncertain)", s.Uncertain)
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.d, a.d) })

	const named = 4
	var b strings.Builder
	b.WriteString(Humane(s.Total) + ":")
	for i, p := range parts[:min(named, len(parts))] {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(" " + Humane(p.d) + " " + p.name)
	}
	var other time.Duration
	for _, p := range parts[min(named, len(parts)):] {
		other += p.d
	}
	if other > 0 {
		b.WriteString(", " + Humane(other) + " other")
	}
	if len(parts) > 0 && s.Unseen > 0 {
		b.WriteByte(';')
	}
	if s.Unseen > 0 || len(parts) == 0 {
		b.WriteString(" " + Humane(s.Unseen) + " not seen")
	}
	return b.String()
}

func appendPart(parts []part, name string, d time.Duration) []part {
	if d <= 0 {
		return parts
	}
	return append(parts, part{name, d})
}

var causeWords = [NumCauses]string{
	GCPause:           "stopped for garbage collection",
	RuntimeSuspension: "stopped by the runtime, not for garbage collection",
	GCAssist:          "marking for the garbage collector",
	GCSweep:           "sweeping before it could allocate",
	GCWait:            "waiting for a phase of the garbage collector",
	SchedGC:           "waiting for a CPU while a GC worker had one, at most",
	Sched:             "waiting for a CPU",
	HostThrottled:     "throttled by the machine",
	HostPreempted:     "without its CPU, which another process had",
	HostIRQ:           "without its CPU, which interrupts had",
	HostSteal:         "without its CPU, which the hypervisor had",
	HostIRQOrSteal:    "without its CPU, for interrupts or the hypervisor",
	HostFault:         "in page faults",
	HostSuspended:     "while the machine slept",
	HostUnknown:       "without its CPU, for a reason that was not seen",
	RuntimeUnknown:    "stopped by the runtime, for a reason that was not seen",
	Queue:             "on the way to the handler and back",
}

func (s *Share) words(c Cause) string {
	most := ""
	if s.Fidelity == Cycle && c.IsStop() {
		most = "at most "
	}
	return most + causeWords[c] + " (" + c.String() + ")"
}

// Humane writes d with three digits and a unit, such as 48.2 ms.
func Humane(d time.Duration) string {
	v, unit := float64(d), "ns"
	switch {
	case d >= time.Second:
		v, unit = v/1e9, "s"
	case d >= time.Millisecond:
		v, unit = v/1e6, "ms"
	case d >= time.Microsecond:
		v, unit = v/1e3, "us"
	}
	digits := 2
	switch {
	case unit == "ns" || v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + unit
}
