package report

import (
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// lateTarget is how long after the beginning a process may appear that was there
// from the beginning on: as long as it takes to find it and to open a session.
const lateTarget = 5 * time.Second

// check finds why the results cannot be had again, or cannot be believed.
func (x *Experiment) check(r *Report, claimed []gc.Kind) {
	x.checkLines()
	lasts := r.Source.Duration().Round(time.Second)
	if x.Empty() {
		x.not("the recording lasts %v, the warm-up %v: no results are left", lasts, x.Warmup)
	} else {
		x.checkResults(r, claimed)
	}
	if !x.ended {
		x.not("the recording has no end, since a crash or a full disk cut it off, or it goes on still: what came after its first %v is missing", lasts)
	}
	x.notIf(x.unrecorded, "record", "%s did not get into the recording")
	if n := r.left.collections + r.left.suspensions; n > 0 {
		x.not("%s collections and stops are more than a report holds: what came last is missing from the results", n)
	}
	dropped := uint64(0)
	for _, p := range x.Probes {
		dropped += p.Gaps.Dropped
	}
	x.notIf(dropped, "gap", "the probes had no room for %s")
	switch {
	case !x.Examined:
		x.not("the recording has no answers of the doctor: whether numbers of this machine can be believed is not known")
	case len(x.Failed) > 0:
		x.not("the doctor says that numbers of this machine cannot be believed: %s", strings.Join(x.Failed, ", "))
	}
}

func (x *Experiment) not(format string, args ...any) {
	x.NotReproducible = append(x.NotReproducible, textfmt.Sprintf(format, args...))
}

// notIf adds a reason about n things, if there are any.
func (x *Experiment) notIf(n uint64, noun, format string, args ...any) {
	if n > 0 {
		x.not(format, append([]any{textfmt.Many(n, noun)}, args...)...)
	}
}

// checkResults checks what is left behind the warm-up.
func (x *Experiment) checkResults(r *Report, claimed []gc.Kind) {
	for i := range x.Targets {
		t := &x.Targets[i]
		// What a new process does first is no result.
		if late := t.At.Sub(x.made.At); x.Warmup > 0 && late > lateTarget {
			x.not("process %d was first seen %v after the beginning: its own warm-up of %v ends within the results", t.PID, late.Round(time.Second), x.Warmup)
		}
		x.checkWatched(t)
		if t.Unwatched == "" {
			x.checkPauses(t, r.only(t.ID), claimed)
		}
	}
	if !slices.ContainsFunc(x.Probes, func(p *Probe) bool { return p.Gaps.Observed > 0 }) {
		x.not("no probe watched the machine")
	}
}

// checkLines checks that the lines are there which name what ran, and where.
func (x *Experiment) checkLines() {
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
		x.not("the line \"runtime\" is missing: no runtime was watched: run --target PID watches .NET; a Go service records its own collections (otelgc/record)")
	}
	for _, t := range x.Targets {
		names, known := recording.RuntimeFacts[t.Runtime]
		switch {
		case t.Runtime == recording.UnknownRuntime && t.Unwatched != "":
			x.not("the runtime of process %d is unknown: %s", t.PID, t.Unwatched)
		case !known:
			x.not("the runtime %q of process %d is not known", t.Runtime, t.PID)
		case t.Unwatched != "":
			x.not("the collections of process %d were not watched: %s", t.PID, t.Unwatched)
		}
		for _, name := range names {
			value := t.Facts[name]
			// What could not be found out says so, and may say why.
			if word, _, _ := strings.Cut(value, ":"); value == "" {
				x.not("the runtime line of process %d lacks %s", t.PID, name)
			} else if strings.EqualFold(word, "unknown") {
				x.not("in the runtime line of process %d %s is %s", t.PID, name, strings.ToLower(value[:1])+value[1:])
			}
		}
	}
}

// checkWatched checks that t was watched all the time. The results lack a pause that
// nobody saw, and it may have been the longest.
func (x *Experiment) checkWatched(t *recording.Target) {
	w := x.Watched[t.ID]
	if w == nil {
		if fromOutside(t) {
			x.not("the watcher of process %d never reported how far it saw: a crash may have cut the recording off before", t.PID)
		}
		return
	}
	x.notIf(w.Lost, "event", "%s of process %d were lost: pauses may be missing, the longest too", t.PID)
	if w.Unseen > 0 {
		x.not("process %d was not watched for %s of the results", t.PID, w.Unseen)
	}
	if early := x.End.Sub(w.Until); early > lateTarget {
		x.not("process %d was watched until %v before the end only: it ended, or was lost sight of", t.PID, early.Round(time.Second))
	}
}

// checkPauses checks that there are enough pauses of each kind.
func (x *Experiment) checkPauses(t *recording.Target, r *Report, claimed []gc.Kind) {
	any := false
	for kind := gc.NoKind + 1; kind < gc.NumKinds; kind++ {
		s := r.PausesOf(kind)
		any = any || s.Count > 0
		switch {
		case s.Count == 0 && slices.Contains(claimed, kind):
			x.not("no collection of kind %s occurred in process %d", kind, t.PID)
		case s.Count > 0 && s.P999.IsZero():
			x.not("%s of kind %s in process %d are too few for p99.9, which needs 10,000", textfmt.Many(s.Count, "pause"), kind, t.PID)
		}
	}
	if !any && len(claimed) == 0 {
		x.not("no collection occurred in process %d", t.PID)
	}
}
