package blame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelgc/otelgc/stall"
)

// enough is the share of the requests' time from which on garbage collection
// matters.
const enough = 0.10

// verdict says whether garbage collection matters.
type verdict uint8

const (
	undecided verdict = iota // too much of the time was not watched
	mattersNot
	matters
)

var verdictNames = [...]string{"unknown", "no", "yes"}

// String returns the verdict in JSON: yes, no or unknown.
func (v verdict) String() string { return verdictNames[min(int(v), len(verdictNames)-1)] }

// matter is what garbage collection had of the time of the requests above a
// percentile.
type matter struct {
	above    string // "p99"
	requests int
	// least and most bound its share of their time: at the least what was charged
	// in fidelity exact, at the most all that was charged, was unseen or is
	// uncertain.
	least, most float64
	// sched is the share of waiting for a CPU while the collector worked. It is an
	// upper bound and part of neither, but without it the collector is not innocent.
	sched float64
	// hidden is the share of queue that was watched per cycle only: such waits do
	// not show in it.
	hidden float64
}

// verdict says whether the share is enough, whatever the rest was.
func (m *matter) verdict() verdict {
	switch {
	case m.least >= enough:
		return matters
	case m.most+m.sched+m.hidden < enough:
		return mattersNot
	}
	return undecided
}

// byPercentile returns what garbage collection had above each percentile that
// there is, from p50 up.
func (j *Judgement) byPercentile() []matter {
	var all []matter
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
			all = append(all, matter{
				above: p.name, requests: t.Requests,
				least:  t.Of(exact.Share.GC()),
				most:   t.Of(t.Share.GC() + t.Share.Unseen + t.Share.Uncertain),
				sched:  t.Of(t.Share.Charged[stall.SchedGC]),
				hidden: t.Of(t.Share.Charged[stall.Queue] - exact.Share.Charged[stall.Queue]),
			})
		}
	}
	return all
}

// mattersFor says for which of the two highest percentiles garbage collection
// matters.
func (j *Judgement) mattersFor() string {
	all := j.byPercentile()
	all = all[max(0, len(all)-2):]
	slices.Reverse(all)
	var by [len(verdictNames)][]string
	sched, hidden := 0.0, 0.0
	for i := range all {
		m := &all[i]
		by[m.verdict()] = append(by[m.verdict()], m.above)
		sched, hidden = max(sched, m.sched), max(hidden, m.hidden)
	}
	if len(all) == 0 {
		return ""
	}
	yes, no, open := by[matters], by[mattersNot], by[undecided]
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
	if sched >= enough {
		s += fmt.Sprintf("; waiting for a CPU while it worked had %s, which may be its doing", upTo(sched))
	}
	if hidden >= enough && len(open) > 0 {
		s += fmt.Sprintf("; %s was queue watched per cycle only, in which a wait for it does not show: run with OTELGC_EXACT_BUDGET=1", upTo(hidden))
	}
	return s + "."
}

// shares writes what garbage collection had above each percentile.
func shares(all []matter) string {
	var parts []string
	same := len(all) == 2
	for i := range all {
		m := &all[i]
		parts = append(parts, between(m.least, m.most))
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
		parts[i] += of + all[i].above
	}
	return strings.Join(parts, " and ")
}

// between writes a share of which only bounds may be known.
func between(least, most float64) string {
	a, b := percent(least), percent(most)
	switch {
	case a == b && least > 0 || most <= 0:
		return a
	case most > 0.995 && least < 0.001:
		return "an unknown part"
	case most > 0.995:
		return "at least " + a
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
