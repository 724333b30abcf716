package cost

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/otelgc/otelgc/bench/harness"
)

// perRequest returns the CPU time of a request in us.
func (s *Side) perRequest() float64 { return 1e6 * s.CPUs / float64(s.Requests) }

// collections returns the collections of a request.
func (s *Side) collections() float64 { return float64(s.Cycles) / float64(s.Requests) }

// throughput returns the requests per second while it alone was sent some.
func (s *Side) throughput() float64 { return float64(s.Answers) / s.LoadS }

// outPerMinute returns the kilobytes that it exported in a minute of its life.
func (s *Side) outPerMinute() float64 { return 60 * float64(s.OutB) / 1e3 / s.LifeS }

// busy returns how many CPUs both use while they get requests; 0 if they get as many as
// they answer.
func (r *Row) busy() float64 { return r.Rate * (r.With.perRequest() + r.Without.perRequest()) / 1e6 }

// more returns how much more CPU time a request took with what is measured, in percent.
func (r *Row) more() float64 { return 100 * (r.With.perRequest()/r.Without.perRequest() - 1) }

// result is what the pairs of a setting in a shape say.
type result struct {
	*setting
	rows           []Row
	cpu            harness.Interval // more, in percent
	p50, p99, p999 harness.Interval // ratios
	throughput     harness.Interval // ratio
	cycles         harness.Interval // of a request, ratio
	peak, start    harness.Interval // more: MB, ms
	bytes, out     float64          // more: MB of the binary, kB exported per minute
}

// median returns the median of f of all pairs.
func (r *result) median(f func(*Row) float64) float64 {
	return harness.MedianOf(r.rows, func(v Row) float64 { return f(&v) })
}

// ratio returns the ratio of f with and without, by its median.
func (r *result) ratio(f func(*Side) float64) harness.Interval {
	return harness.Of(harness.Each(r.rows, func(v Row) float64 { return f(&v.With) / f(&v.Without) }))
}

func newResult(v *setting, rows []Row) *result {
	r := &result{setting: v, rows: rows}
	r.cpu = harness.Of(harness.Each(rows, func(v Row) float64 { return v.more() }))
	r.p50 = r.ratio(func(s *Side) float64 { return s.P50 })
	r.p99 = r.ratio(func(s *Side) float64 { return s.P99 })
	r.p999 = r.ratio(func(s *Side) float64 { return s.P999 })
	r.throughput = r.ratio((*Side).throughput)
	collected := slices.DeleteFunc(slices.Clone(rows), func(v Row) bool { return v.With.Cycles == 0 || v.Without.Cycles == 0 })
	r.cycles = harness.Of(harness.Each(collected, func(v Row) float64 { return v.With.collections() / v.Without.collections() }))
	r.peak = harness.Of(harness.Each(rows, func(v Row) float64 { return float64(v.With.PeakKB-v.Without.PeakKB) / 1024 }))
	r.start = harness.Of(harness.Each(rows, func(v Row) float64 { return v.With.StartMS - v.Without.StartMS }))
	r.out = r.median(func(v *Row) float64 { return v.With.outPerMinute() - v.Without.outPerMinute() })
	r.bytes = r.median(func(v *Row) float64 { return float64(v.With.BinaryB-v.Without.BinaryB) / 1e6 })
	return r
}

// results are those of a shape, the cheapest first.
type results []*result

func (all results) find(name string) *result {
	for _, r := range all {
		if r.name == name {
			return r
		}
	}
	return nil
}

// write writes the page of the rows of a file.
func write(p *harness.Page, file string, rows Rows) error {
	var measured, lacking []string
	for _, note := range rows.Notes {
		if reason, ok := strings.CutPrefix(note, leftOut); ok {
			name, _, _ := strings.Cut(reason, ":")
			if !slices.ContainsFunc(rows.Rows, func(r Row) bool { return r.Setting == name }) { // it was not measured later either
				lacking = append(lacking, reason)
			}
		} else {
			measured = append(measured, note)
		}
	}
	if len(measured) > 0 {
		p.SetMeasured(strings.Join(measured, " "))
	}
	p.Para("A service that decodes, prices and answers an order of eight lines runs twice: with what is measured and, unless it says otherwise, with nothing. " +
		"Its figures with are compared with those without, pair by pair: medians, with 95 %% intervals by order statistics, which assume no distribution.")
	for _, s := range shapes(0) {
		if all := resultsOf(&s, rows.Rows); len(all) > 0 {
			writeShape(p, &s, all)
		}
	}
	writeKnows(p, rows.Rows)
	if len(lacking) > 0 {
		p.Para("Left out, since this machine lacks what it needs: %s.", strings.Join(lacking, "; "))
	}
	p.Para("Not measured: OpenTelemetry eBPF Instrumentation (OBI).")
	writeMethod(p, filepath.Base(file), rows.Rows)
	return nil
}

func resultsOf(s *shape, rows []Row) (results results) {
	for i := range all {
		of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Shape != s.name || r.Setting != all[i].name })
		if len(of) > 0 {
			results = append(results, newResult(&all[i], of))
		}
	}
	slices.SortStableFunc(results, func(a, b *result) int {
		return cmp.Or(strings.Compare(a.against, b.against), cmp.Compare(a.cpu.Median, b.cpu.Median))
	})
	return results
}

// interval writes a median with its interval, such as "1.02 (0.98 to 1.05)".
func interval(v harness.Interval, unit string) string {
	if math.IsInf(v.Low, 0) || math.IsInf(v.High, 0) {
		return fmt.Sprintf("%.2f%s (too few)", v.Median, unit)
	}
	return fmt.Sprintf("%.2f%s (%s)", v.Median, unit, v)
}

func writeShape(p *harness.Page, s *shape, all results) {
	first := all[0]
	if check := all.find(nothing); check != nil {
		first = check
	}
	without := func(f func(*Side) float64) float64 {
		return first.median(func(v *Row) float64 { return f(&v.Without) })
	}
	together := ""
	if !s.full {
		together = fmt.Sprintf(" Both together use %.2f CPUs.", first.median((*Row).busy))
	}
	p.Para("### %s", s.name)
	p.Para("%s. Without: %.0f requests/s, %.1f us of CPU each; p50 %.0f us, p99 %.0f us, p99.9 %.0f us; peak memory %.0f MB; %.0f ms from exec to the first answer; "+
		"binary %.1f MB.%s", s.words, without((*Side).throughput), without((*Side).perRequest), without(func(v *Side) float64 { return v.P50 }), without(func(v *Side) float64 { return v.P99 }),
		without(func(v *Side) float64 { return v.P999 }), without(func(v *Side) float64 { return float64(v.PeakKB) / 1024 }), without(func(v *Side) float64 { return v.StartMS }),
		without(func(v *Side) float64 { return float64(v.BinaryB) / 1e6 }), together)
	if s.full {
		table := harness.NewTable("setting | pairs | CPU per request more | throughput, ratio")
		for _, r := range all {
			table.Row("%s | %d | %s | %s", r.label, len(r.rows), interval(r.cpu, " %"), interval(r.throughput, ""))
		}
		p.Table(table)
		return
	}
	table := harness.NewTable("setting, the cheapest first | pairs | CPU per request more | p50, ratio | p99, ratio | p99.9, ratio")
	other := harness.NewTable("setting | time traced | collections, ratio | peak memory more | start-up more | binary more | exported per minute more | beside it: CPU | beside it: memory")
	for _, r := range all {
		table.Row("%s | %d | %s | %s | %s | %s", r.label, len(r.rows), interval(r.cpu, " %"), interval(r.p50, ""), interval(r.p99, ""), interval(r.p999, ""))
		traced := r.median(func(v *Row) float64 { return 100 * v.With.TracedS / v.WindowS })
		beside, memory := "", ""
		if r.sidecar != nil {
			beside = fmt.Sprintf("%.2f %%", r.median(func(v *Row) float64 { return 100 * v.BesideCPUs / v.WindowS }))
			memory = fmt.Sprintf("%.0f MB", r.median(func(v *Row) float64 { return float64(v.BesidePeakKB) / 1024 }))
		}
		other.Row("%s | %.0f %% | %s | %s | %s | %.1f MB | %.0f kB | %s | %s", r.label, traced, interval(r.cycles, ""), interval(r.peak, " MB"), interval(r.start, " ms"), r.bytes, r.out, beside, memory)
	}
	p.Table(table)
	p.Table(other)
	for _, sentence := range judge(s, all) {
		p.Para("%s", sentence)
	}
}

// judge says where otelgc loses, and whether its goals are met.
func judge(s *shape, all results) (said []string) {
	ours, check := all.find(standard), all.find(nothing)
	if ours == nil {
		return nil
	}
	said = append(said, cheaper(ours, all))
	if check != nil && !math.IsInf(check.cpu.Low, 0) {
		said = append(said, fmt.Sprintf("Nothing against nothing is %s of CPU, which %s; its p99 is %s times as long, which %s.",
			interval(check.cpu, " %"), holds(check.cpu, 0), interval(check.p99, ""), holds(check.p99, 1)))
	}
	if s.name != "http" {
		return said
	}
	if math.IsInf(ours.cpu.High, 0) {
		return append(said, "The goals are not judged: too few pairs.")
	}
	goals := []string{
		fmt.Sprintf("at most 1 %% of CPU per request more at the upper end of the interval: %.2f %%, %s", ours.cpu.High, harness.Met(ours.cpu.High <= 1)),
		"p99 at most 1.01 times at the median: " + interval(ours.p99, "") + ", " + p99Met(ours, check),
	}
	if trace := all.find(alwaysOn); trace != nil {
		goals = append(goals, fmt.Sprintf("a fourth of an execution trace that is always on at most, at the medians: %.2f %% of %.2f %%, %s",
			ours.cpu.Median, trace.cpu.Median, harness.Met(4*ours.cpu.Median <= trace.cpu.Median)))
	}
	return append(said, "Goals of otelgc at its default budget: "+strings.Join(goals, "; ")+".")
}

// holds says whether an interval of what is the same on both sides has the value that it
// then is to have.
func holds(v harness.Interval, same float64) string {
	if v.Low > same || v.High < same {
		return fmt.Sprintf("does not hold %.0f: **smaller differences in this shape are not to be believed**", same)
	}
	return fmt.Sprintf("holds %.0f: a smaller difference cannot be seen", same)
}

// p99Met says whether the goal of p99 is met, if a hundredth can be seen at all.
func p99Met(ours, check *result) string {
	if check != nil && (check.p99.Low > 1 || check.p99.High < 1 || check.p99.High-check.p99.Low > 0.02) {
		return "not judged: nothing against nothing differs by more"
	}
	return harness.Met(ours.p99.Median <= 1.01)
}

// cheaper says what is cheaper than otelgc: where there are intervals, only what they
// leave no doubt of.
func cheaper(ours *result, all results) string {
	var said []string
	exact := func(f func(*result) float64) func(*result) harness.Interval {
		return func(r *result) harness.Interval { return harness.Interval{Median: f(r), Low: f(r), High: f(r)} }
	}
	for _, by := range []struct {
		name string
		of   func(*result) harness.Interval
	}{
		{"CPU", func(r *result) harness.Interval { return r.cpu }}, {"p99", func(r *result) harness.Interval { return r.p99 }},
		{"memory", func(r *result) harness.Interval { return r.peak }}, {"start-up", func(r *result) harness.Interval { return r.start }},
		{"size of the binary", exact(func(r *result) float64 { return r.bytes })},
		{"bytes exported", exact(func(r *result) float64 { return r.out })},
	} {
		var names []string
		for _, r := range all {
			// A setting that is compared with another setting has another scale.
			if r != ours && r.name != nothing && r.against == "" && by.of(r).High < by.of(ours).Low {
				names = append(names, r.label)
			}
		}
		if len(names) == 0 {
			names = []string{"none"}
		}
		said = append(said, fmt.Sprintf("by %s: %s", by.name, strings.Join(names, ", ")))
	}
	return "Cheaper than otelgc at its default budget, by intervals that do not meet: " + strings.Join(said, "; ") + "."
}

// writeKnows says what each setting can answer.
func writeKnows(p *harness.Page, rows []Row) {
	p.Para("### What each can answer about one slow request")
	table := harness.NewTable("setting | answer")
	for _, v := range all[1:] {
		if slices.ContainsFunc(rows, func(r Row) bool { return r.Setting == v.name }) {
			table.Row("%s | %s", v.label, v.knows)
		}
	}
	p.Table(table)
}

// writeMethod says how it was measured.
func writeMethod(p *harness.Page, file string, rows []Row) {
	p.Para("### How it is measured")
	p.Para("The two services of a pair are there at once, pinned to half of the CPUs; load, receivers and sidecars have the others. Requests come evenly, to each 15 %% of what one alone could answer at most. " +
		"CPU is measured first, while both get requests, so that a disturbance of the machine hits both alike: the process's CPU clock over its answers, from the end of a collection to the end of another. " +
		"Then answers are timed, while they take turns of half a second in the order ABBA: at once, each would wait for the other's collections. " +
		"A request that is due while its connection waits for an answer counts from when it was due. " +
		"A window of a tracer that rests ends as long after the begin of a slice as it began after that of another: it holds whole cycles. " +
		"Both services are new in each pair, and take turns to be the first, since where code and heap happen to lie makes one slower than the other for as long as it lives. Settings take turns, one pair each.")
	p.Para("otelgc and the settings of OpenTelemetry have the SDK and its exporters in their binaries and at work, which nothing and the traces have not. A sidecar runs at the lowest priority.")
	p.Para("What a setting keeps makes the heap larger, and so collections rarer, which saves CPU: the figures of CPU are net of that. The smaller the service's own heap and the more it allocates, the more is saved.")
	p.Para("Exporters send OTLP, uncompressed, to a receiver that counts the bytes, metrics every 10 s; of a sidecar, what it exports counts; of a trace that is dropped, its length. " +
		"Exported per minute is of the whole life of a service, in which it gets requests for about two thirds of the time.")
	p.Para("The figures of each pair are in [%[1]s](%[1]s), %[2]d rows; `cd bench && go run . cost -from ../docs/accuracy/%[1]s` makes this page of them.", file, len(rows))
}
