package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/page"
	"github.com/otelgc/otelgc/stall/gc"
)

// isUnknown reports whether a fact could not be found out: it says so, and may
// say why.
func isUnknown(value string) bool {
	word, _, _ := strings.Cut(value, ":")
	return strings.EqualFold(word, "unknown")
}

// judge finds why the results cannot be had again, or cannot be believed.
func (x *Experiment) judge(r *Report, claimed []gc.Kind) {
	x.judgeLines()
	if x.Results.Empty() {
		x.not("the recording lasts %v, the warm-up %v: no results are left", r.Duration().Round(time.Second), x.Warmup)
		return
	}
	for _, t := range x.Targets {
		x.judgePauses(&t, r.only(t.ID), claimed)
	}
	if !x.observed() {
		x.not("nobody probed the machine")
	}
	if x.Unrecorded > 0 {
		x.not("%s did not get into the recording", page.Many(x.Unrecorded, "record"))
	}
	if len(x.Failed) > 0 {
		x.not("the doctor says that numbers of this machine cannot be believed: %s", strings.Join(x.Failed, ", "))
	}
}

func (x *Experiment) not(format string, args ...any) {
	x.NotReproducible = append(x.NotReproducible, fmt.Sprintf(format, args...))
}

// judgeLines asks for the lines that name what ran, and where.
func (x *Experiment) judgeLines() {
	for _, line := range []struct{ name, value, mend string }{
		{"machine", x.Machine, ""},
		{"os", x.OS, ""},
		{"workload", x.Workload, ": give it with --workload"},
	} {
		if line.value == "" {
			x.not("the line %q is missing%s", line.name, line.mend)
		}
	}
	if len(x.Targets) == 0 {
		x.not("the line \"runtime\" is missing: no process was watched: record with --target, or have a Go service record itself (otelgc/record)")
	}
	for _, t := range x.Targets {
		names, known := recording.RuntimeFacts[t.Runtime]
		if !known {
			x.not("the runtime %q of process %d is not known", t.Runtime, t.PID)
		}
		for _, name := range names {
			switch value, there := t.Facts[name]; {
			case !there || value == "":
				x.not("the runtime line of process %d lacks %s", t.PID, name)
			case isUnknown(value):
				x.not("in the runtime line of process %d %s is %s", t.PID, name, strings.ToLower(value))
			}
		}
	}
}

// judgePauses asks for enough pauses of each kind.
func (x *Experiment) judgePauses(t *recording.Target, r *Report, claimed []gc.Kind) {
	wanted := [gc.NumKinds]bool{}
	for _, kind := range claimed {
		wanted[kind] = true
	}
	any := false
	for kind := gc.NoKind + 1; kind < gc.NumKinds; kind++ {
		s := r.PausesOf(kind)
		any = any || s.Count > 0
		switch {
		case s.Count == 0 && wanted[kind]:
			x.not("no collection of kind %s occurred in process %d", kind, t.PID)
		case s.Count > 0 && s.P999.IsZero():
			x.not("%s of kind %s in process %d are too few for p99.9, which needs 10,000", page.Many(s.Count, "pause"), kind, t.PID)
		}
	}
	if !any && len(claimed) == 0 {
		x.not("no collection occurred in process %d", t.PID)
	}
}
