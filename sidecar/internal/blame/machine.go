package blame

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// machine returns a sentence about what the machine did.
func (r *Report) machine() string {
	o := &r.Outside
	if o.Observed() <= 0 {
		return "Nobody watched the machine."
	}
	where := "where it ran"
	if o.CPU >= 0 {
		where = fmt.Sprintf("on CPU %d", o.CPU)
	}
	none := o.Gaps+o.Dropped == 0
	s := textfmt.Sprintf("The probe outside saw %s %s (%s of its time, longest %s%s)", textfmt.Many(o.Gaps, "gap"), where, percent(o.Lost()), o.longest(), o.reasons())
	if none {
		s = "The probe outside saw no gap " + where
	}
	all := r.Summary.sum(ToP50)
	switch host := hosts(&all.Share.Charged); {
	case host > 0:
		most := machineMost(&all.Share)
		if strings.Contains(s, strings.Trim(most, " ()")) {
			most = "" // it is said
		}
		return s + fmt.Sprintf(". The machine%s had %s of the requests' time.", most, percent(all.Of(host)))
	case none:
		return s + "."
	case !o.Board:
		return s + ", but the service could not read them, so requests were not compared with them."
	case hosts(&all.Share.Coincident) > 0:
		return s + "; none is charged to a request, since a gap on one CPU says nothing about a thread on another."
	}
	return s + "; none is charged to a request."
}

// reasons lists the causes that kept the probe from running for much of its time,
// the most first.
func (o *Outside) reasons() (text string) {
	var causes []stall.Cause
	for c := range stall.NumCauses {
		if textfmt.Ratio(o.Causes[c].Time, o.Observed()) >= much {
			causes = append(causes, c)
		}
	}
	slices.SortStableFunc(causes, func(a, b stall.Cause) int { return cmp.Compare(o.Causes[b].Time, o.Causes[a].Time) })
	for _, c := range causes {
		text += fmt.Sprintf("; %s %s", percent(textfmt.Ratio(o.Causes[c].Time, o.Observed())), c)
		if why := machineDid[c]; why != "" {
			text += ": " + why
		}
	}
	return text
}

// machineDid describes what the machine did, by cause.
var machineDid = map[stall.Cause]string{
	stall.HostThrottled:  "the CPU quota was used up",
	stall.HostPreempted:  "others had the CPU",
	stall.HostIRQ:        "the CPU served interrupts",
	stall.HostSteal:      "the hypervisor had the CPU",
	stall.HostIRQOrSteal: "interrupts or the hypervisor had the CPU",
	stall.HostFault:      "pages came from disk",
	stall.HostSuspended:  "it slept, or the process was stopped",
	stall.HostUnknown:    "no evidence says why",
	stall.RuntimeUnknown: "the probe's own runtime held it up",
}

// hostCauses are those of the machine.
var hostCauses = func() (list []stall.Cause) {
	for c := range stall.NumCauses {
		if c.IsHost() {
			list = append(list, c)
		}
	}
	return list
}()

// machineMost returns, in brackets, the cause of the machine with the most of s.
func machineMost(s *stall.Share) string {
	first := stall.NoCause
	for _, c := range hostCauses {
		if s.Charged[c] > s.Charged[first] {
			first = c
		}
	}
	if why := machineDid[first]; why != "" {
		return " (" + first.String() + ": " + why + ")"
	}
	return ""
}

// hosts returns the part of a list of causes that is of the machine.
func hosts(list *[stall.NumCauses]time.Duration) (sum time.Duration) {
	for _, c := range hostCauses {
		sum += list[c]
	}
	return sum
}
