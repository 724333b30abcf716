package demo

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// slowest is how many of the slowest requests are reported one by one.
const slowest = 5

// minForP99 is how many requests p99 needs, so that ten lie above it.
const minForP99 = 1000

// report puts together what the load, the service and the probe saw.
func (r *runner) report(s jitterprobe.Summary) (*blame.Report, error) {
	answered := make([]load.Answer, 0, len(r.outcome.Answers))
	unsent, waited := 0, time.Duration(0)
	for _, a := range r.outcome.Answers {
		if a.Sent == 0 {
			unsent++
		} else {
			waited = max(waited, a.Ready.Sub(a.Arrival))
		}
		if a.OK() {
			answered = append(answered, a)
		}
	}
	m, err := match(answered, &r.account, &r.followed)
	if err != nil {
		return nil, err
	}
	b := &blame.Report{
		Setup:    r.setup(s),
		Requests: len(answered),
		Errors:   len(r.outcome.Answers) - len(answered),
		Start:    r.outcome.Start,
		Inside:   r.gaps.attribute(m),
		Outside:  blame.Outside{Summary: s, Board: r.board != ""},
		GC:       r.account.farewell.GC,
		Injected: r.injected(),
	}
	b.Summary = blame.Summarize(len(answered), slowest,
		func(i int) time.Duration { return answered[i].Latency() }, m.look)
	for i := range answered {
		if !m.matched(i) {
			b.Unmatched++
		}
	}
	b.Notes = r.warnings(b, s, unsent, waited)
	r.draw(b, m)
	return b, nil
}

// draw has the slowest requests drawn, and of those that were kept the one nearest to the
// median.
func (r *runner) draw(b *blame.Report, m *matcher) {
	order := make([]int, len(m.answers))
	for i := range order {
		order[i] = i
	}
	latency := func(i int) time.Duration { return m.answers[i].Latency() }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(latency(b), latency(a)) })
	for i, k := range order[:min(slowest, len(order))] {
		name := fmt.Sprintf("request %d of %d by latency, at +%.3f s", i+1, len(order), m.answers[k].Arrival.Sub(b.Start).Seconds())
		if d := m.draw(k, name, r.gaps); d != nil {
			b.Drawn = append(b.Drawn, d)
		}
	}
	off := func(i int) time.Duration { return (latency(i) - b.Summary.Latency.P50).Abs() }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(off(a), off(b)) })
	for _, k := range order {
		if b.Median = m.draw(k, "a median request", r.gaps); b.Median != nil {
			return
		}
	}
}

// setup returns what ran, and on what.
func (r *runner) setup(s jitterprobe.Summary) []blame.Line {
	h := &r.account.hello
	span := r.Schedule.Span()
	return []blame.Line{
		{Title: "service", Text: fmt.Sprintf("%s, GOMAXPROCS %d, live heap %d MiB", h.GoVersion, h.GOMAXPROCS, r.LiveHeap>>20)},
		{Title: "injected", Text: r.injection()},
		{Title: "load", Text: fmt.Sprintf("%s in %s, each at a time fixed in advance", textfmt.Many(len(r.Schedule), "request"), textfmt.Length(span))},
		{Title: "machine", Text: r.sharing(s) + r.followed.coverage()},
	}
}

func (r *runner) injected() *blame.Injected {
	if r.Inject == InjectNone {
		return nil
	}
	n := r.account.farewell.Forced
	return &blame.Injected{What: string(r.Inject), Times: n, PerSecond: float64(n) / max(r.served.Seconds(), 1e-9)}
}

// injection returns what was injected, and the rate that was reached.
func (r *runner) injection() string {
	i := r.injected()
	switch r.Inject {
	case InjectForcedGC:
		return fmt.Sprintf("%s: the handlers of %s called runtime.GC", i.What, textfmt.Many(i.Times, "request"))
	case InjectSTW:
		return fmt.Sprintf("%s: the service wrote the stacks of all its goroutines %s, %.0f a second (runtime.Stack)", i.What, textfmt.Many(i.Times, "time"), i.PerSecond)
	case InjectThrottle:
		return i.What + ": the service may use a fifth of a CPU"
	case InjectHog:
		return fmt.Sprintf("%s: another process wants the service's CPUs, with %s for each", i.What, textfmt.Many(hogsPerCPU, "thread"))
	}
	return "nothing"
}

// sharing returns which CPUs service, load generator and probe have: on a small machine,
// that explains most of the figures.
func (r *runner) sharing(s jitterprobe.Summary) string {
	probe := fmt.Sprintf("the probe (%s)", s.Mode)
	if len(r.others) == 0 {
		return fmt.Sprintf("%s, shared by the service, the load generator and %s: they take it from each other", textfmt.Many(r.cpus, "CPU"), probe)
	}
	if s.CPU == r.own {
		probe = " and " + probe
	} else {
		probe = fmt.Sprintf(", CPU %d for %s", s.CPU, probe)
	}
	service := fmt.Sprintf("CPU %d", r.others[0])
	if n := len(r.others); n > 1 {
		service = textfmt.Many(n, "CPU")
	}
	return fmt.Sprintf("%s: CPU %d for the load generator%s; %s for the service, GOMAXPROCS %d",
		textfmt.Many(r.cpus, "CPU"), r.own, probe, service, r.account.hello.GOMAXPROCS)
}

// warnings returns what readers have to know before they believe a number.
func (r *runner) warnings(b *blame.Report, s jitterprobe.Summary, unsent int, waited time.Duration) []string {
	notes, hello, failed := r.notes, &r.account.hello, b.Errors-unsent
	add := func(is bool, format string, args ...any) {
		if is {
			notes = append(notes, textfmt.Sprintf(format, args...))
		}
	}
	add(s.Note != "", "The probe beside the service does not spin: %s.", s.Note)
	add(hello.ProbeNote != "", "The probe in the service does not run as it should: %s.", hello.ProbeNote)
	add(b.Requests > 0 && b.Requests < minForP99, "p99 of %s is the luck of a few: it wants %s or more.", textfmt.Many(b.Requests, "request"), minForP99)
	add(unsent > 0, "%s of %s were not sent, since the service did not keep up; their latency would be above all others.", unsent, textfmt.Many(len(r.Schedule), "request"))
	add(failed > 0, "%s failed, such as by: %v.", textfmt.Many(failed, "request"), r.outcome.Failure)
	add(b.Unmatched > 0, "The service gave no account of %s that it answered: all their time is unseen.", textfmt.Many(b.Unmatched, "request"))
	add(waited > 10*time.Millisecond, "One request waited %s for a free connection: it is part of its latency, as queue.", waited)
	add(b.GC.Cycles != b.GC.RuntimeCycles, "The monitor counted %s, the runtime %s.", textfmt.Many(b.GC.Cycles, "collection"), b.GC.RuntimeCycles)
	lost := uint64(r.account.dropped) + r.account.farewell.Lost
	add(lost > 0, "%s of the service could not be kept.", textfmt.Many(lost, "record"))
	for _, n := range r.account.farewell.Notes {
		add(true, "The service says: %s.", n)
	}
	return notes
}
