package main

import (
	"fmt"
	"slices"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/stall"
)

func write(s *report.Section, e *experiment, all []*tally) {
	s.Para("A probe on CPU %d of this machine, threshold 1 µs, each case for %v, that of the limit, which comes once a second, for six times as long. "+
		"A gap is of known truth where the injector's own record covers it: "+
		"the cgroup's account for the quota, the competitor's own for when it ran, the call that moved the thread, how long the kernel says that the process was stopped, "+
		"the kernel's samples of page faults at an address where they were provoked, how long another process kept a page fault waiting (userfaultfd), "+
		"the samples of a timer, the way of a packet that the CPU had to receive. A gap of a short page fault or of an interrupt "+
		"is of no known truth if the thread was switched out in it, too, which the kernel samples. For the process's own collections it is the runtime's own word: "+
		"the kernel says when the thread came back to the runtime while the world was stopped and found no P (%s), and when it was let go (%s); "+
		"without collections, when somebody else was at its goroutine or had taken its P (%s, %s). Each of these calls is some 1 µs longer for it. "+
		"What is called host.irq_or_steal is wrong unless it was an interrupt. Where it says so, the probing process had fewer rights: no bound is on what it decides.", e.cpu, e.span, noP, letGo, somebodyElse, noLongerHasP)
	rows := [][]string{{"injected", "gaps of known truth", "right", "undecided", "wrong", "called what cannot be", "all gaps", "of them unknown"}}
	for _, t := range all {
		if t.left != "" {
			s.Para("%s was left out: %s.", t.c.name, t.left)
			continue
		}
		row := []string{t.c.name, "–", "–", "–", "–"}
		if t.c.want != "" {
			row = []string{t.c.name, fmt.Sprint(t.truth), percent(t.right(), t.truth), percent(t.undecided(), t.truth), percent(t.wrong(), t.truth)}
		}
		rows = append(rows, append(row, fmt.Sprint(t.never), fmt.Sprint(t.gaps), percent(t.causes[unknown], t.gaps)))
	}
	s.Table(rows)
	writeQuiet(s, all)
	writeCauses(s, all)
	writeVerdicts(s, all)
	for _, t := range all {
		if len(t.limits) > 0 && t.c.rights == allRights {
			s.Para("%s", t.limits[0])
			return
		}
	}
}

// busyFrom is how often in a second another thread may have the CPU of a probe
// to which nothing is done, on a machine that is quiet.
const busyFrom = 50

// writeQuiet says so if the machine was not quiet: what others do is a true cause,
// and wrong in these tables.
func writeQuiet(s *report.Section, all []*tally) {
	for _, t := range all {
		n := float64(t.causes[stall.HostPreempted.String()]) / max(t.observed.Seconds(), 1e-9)
		if t.c.mode == "spin" && t.c.inject == nil && t.c.work == "" && n >= busyFrom {
			s.Para("The machine was busy: with nothing injected another thread had the probe's CPU %.0f times a second. Such gaps count as wrong here where they fall into an injection.", n)
		}
	}
}

// writeVerdicts says which bounds were kept.
func writeVerdicts(s *report.Section, all []*tally) {
	rows := [][]string{{"bound", "wanted", "measured", ""}}
	for _, v := range verdicts(all) {
		rows = append(rows, []string{v.what, v.wanted, v.got, word(v.met)})
	}
	s.Table(rows)
}

// writeCauses is the confusion matrix: what the gaps of known truth are called.
func writeCauses(s *report.Section, all []*tally) {
	var names []string
	for _, t := range all {
		for name := range t.called {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	rows := [][]string{append([]string{"gaps of known truth"}, names...)}
	for _, t := range all {
		if t.truth == 0 {
			continue
		}
		row := []string{t.c.name}
		for _, name := range names {
			row = append(row, fmt.Sprint(t.called[name]))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		s.Table(rows)
	}
}

func percent(part, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*ratio(part, of))
}
