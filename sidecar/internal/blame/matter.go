package blame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelgc/otelgc/stall"
)

// Matters is the share of the requests' time from which on garbage collection
// matters.
const Matters = 0.10

// Verdict says whether garbage collection matters.
type Verdict uint8

const (
	Undecided Verdict = iota // too much of the time was not watched
	MattersNot
	DoesMatter
)

var verdictNames = [...]string{"unknown", "no", "yes"}

// String returns the verdict in JSON: yes, no or unknown.
func (v Verdict) String() string { return verdictNames[min(int(v), len(verdictNames)-1)] }

// Matter is what garbage collection had of the time of the requests above a
// percentile.
type Matter struct {
	Above    string // "p99"
	Requests int
	// Least and Most bound its share of their time: at the least what was charged
	// in fidelity exact, at the most all that was charged, was unseen or is
	// uncertain.
	Least, Most float64
	// Sched is the share of waiting for a CPU while the collector worked. It is an
	// upper bound and part of neither, but without it the collector is not innocent.
	Sched float64
	// Hidden is the share of queue that was watched per cycle only: such waits do
	// not show in it.
	Hidden float64
}

// Verdict says whether the share is Matters or more, whatever the rest was.
func (m *Matter) Verdict() Verdict {
	switch {
	case m.Least >= Matters:
		return DoesMatter
	case m.Most+m.Sched+m.Hidden < Matters:
		return MattersNot
	}
	return Undecided
}

// Matters returns what garbage collection had above each percentile that there
// is, from p50 up.
func (j *Judgement) Matters() []Matter {
	var all []Matter
	for _, p := range []struct {
		name string
		from Band
	}{{"p50", P50ToP90}, {"p90", P90ToP99}, {"p99", P99ToP999}, {"p99.9", AboveP999}} {
		if p.from == AboveP999 && !j.Latency.HasP999 {
			break
		}
		t := j.sum(func(r *Row) bool { return r.Band >= p.from })
		exact := j.sum(func(r *Row) bool { return r.Band >= p.from && r.Fidelity == stall.Exact })
		if t.Requests > 0 {
			all = append(all, Matter{
				Above: p.name, Requests: t.Requests,
				Least:  t.Of(exact.Share.GC()),
				Most:   t.Of(t.Share.GC() + t.Share.Unseen + t.Share.Uncertain),
				Sched:  t.Of(t.Share.Charged[stall.SchedGC]),
				Hidden: t.Of(t.Share.Charged[stall.Queue] - exact.Share.Charged[stall.Queue]),
			})
		}
	}
	return all
}

// matter says for which of the two highest percentiles garbage collection
// matters.
func (j *Judgement) matter() string {
	all := j.Matters()
	all = all[max(0, len(all)-2):]
	slices.Reverse(all)
	var by [len(verdictNames)][]string
	sched, hidden := 0.0, 0.0
	for i := range all {
		m := &all[i]
		by[m.Verdict()] = append(by[m.Verdict()], m.Above)
		sched, hidden = max(sched, m.Sched), max(hidden, m.Hidden)
	}
	if len(all) == 0 {
		return ""
	}
	yes, no, open := by[DoesMatter], by[MattersNot], by[Undecided]
	var s string
	switch {
	case len(yes) > 0 && len(no) > 0:
		s = "GC matters for " + yes[0] + " but not for " + no[0]
	case len(yes) > 0:
		s = "GC matters for " + strings.Join(yes, " and ")
	case len(no) > 1:
		s = "GC matters neither for " + strings.Join(no, " nor for ")
	case len(no) > 0:
		s = "GC does not matter for " + no[0]
	}
	if len(open) > 0 {
		if s == "" {
			s = "Whether GC matters for "
		} else {
			s += ", and whether it does for "
		}
		s += strings.Join(open, " or ") + " cannot be told"
	}
	s += ": it had " + shares(all)
	if sched >= Matters {
		s += fmt.Sprintf("; waiting for a CPU while it worked had %s, which may be its doing", upTo(sched))
	}
	if hidden >= Matters && len(open) > 0 {
		s += fmt.Sprintf("; %s was queue watched per cycle only, in which a wait for it does not show: run with OTELGC_EXACT_BUDGET=1", upTo(hidden))
	}
	return s + "."
}

// shares writes what garbage collection had above each percentile.
func shares(all []Matter) string {
	var parts []string
	same := len(all) == 2
	for i := range all {
		m := &all[i]
		parts = append(parts, between(m.Least, m.Most))
		same = same && parts[i] == parts[0]
	}
	if same {
		return parts[0] + " of the requests' time above either"
	}
	for i := range all {
		of := " above "
		if i == 0 {
			of = " of the requests' time above "
		}
		parts[i] += of + all[i].Above
	}
	return strings.Join(parts, " and ")
}

// between writes a share of which only bounds may be known.
func between(least, most float64) string {
	a, b := percent(least), percent(most)
	switch {
	case a == b && least > 0 || most <= 0:
		return a
	case most > 0.995:
		return "an unknown part"
	case least < 0.001:
		return "at most " + strings.TrimPrefix(b, "less than ")
	}
	return a + " to " + b
}

// upTo writes a share as the largest of several.
func upTo(f float64) string {
	if f > 0.995 {
		return "nearly all"
	}
	return "up to " + percent(f)
}
