package blame

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// much is the fraction of a time from which on it is worth a word: unseen time, the
// queue, the load generator's own part, the gaps of the probe outside, and what
// garbage collection has to have to matter. From mostUnseen on no owner is named.
const (
	much       = 0.10
	mostUnseen = 0.50
)

// Sentences returns the report in three sentences: what is to blame for p99, what the
// garbage collector cost, and what the machine did. Unseen time has no owner; where it
// is most of the time, it comes first.
func (r *Report) Sentences() []string {
	if r.Requests == 0 {
		return []string{"Nobody can be blamed for p99: no request was answered."}
	}
	return []string{r.blame(), r.collector(), r.machine()}
}

// party is an owner of time: a cause, a group of causes, or what is left over. The printed
// table has a column for each that had any.
type party struct {
	top, head string // the two lines of the column's title
	text      string // in a sentence
	// atMost is set if in fidelity cycle its charge is an upper bound of what it cost the
	// requests.
	atMost bool
	owners []semconv.Owner // none for the load generator
}

// parties lists them in the order of precedence. Together they have all of a
// share's time.
var parties = []party{
	{"gc", "pause", "pauses of the garbage collector", true, owners(stall.GCPause)},
	{"gc", "assist", "marking for the garbage collector (assist)", true, owners(stall.GCAssist)},
	{"gc", "sweep", "sweeping for the garbage collector", true, owners(stall.GCSweep)},
	{"gc", "wait", "waiting for a phase of the garbage collector to end", true, owners(stall.GCWait)},
	{"sched", "gc", "waiting for a CPU while the garbage collector worked (an upper bound)", false, owners(stall.SchedGC)},
	{"", "sched", "waiting for a CPU (the Go scheduler)", false, owners(stall.Sched)},
	{"run-", "time", "stops of the runtime that were not for garbage collection", true, owners(stall.RuntimeSuspension, stall.RuntimeUnknown)},
	{"", "host", "the machine", false, owners(hostCauses...)},
	{"", "queue", "the way to the handler and back (queue: a connection, the kernel or a CPU was busy)", false, owners(stall.Queue)},
	{"load", "gen", "the load generator, which is no part of the service (it sent the request late, or read the answer late)", false, nil},
	{"", "app", "the program itself", false, []semconv.Owner{semconv.App}},
	{"app/", "host", "the program or the machine (it was not watched which)", false, []semconv.Owner{semconv.AppOrHost}},
	{"un-", "certain", "something that the clocks cannot decide", false, []semconv.Owner{semconv.Uncertain}},
	{"un-", "seen", "something that was not watched", false, []semconv.Owner{semconv.Unseen}},
}

// named are the parties that p99 is blamed on: the collector is one of them, whatever it
// did.
var named = append([]party{{"gc", "", "garbage collection", true, owners(gcCauses...)}}, parties[4:]...)

var gcCauses = []stall.Cause{stall.GCPause, stall.GCAssist, stall.GCSweep, stall.GCWait}

func owners(causes ...stall.Cause) (list []semconv.Owner) {
	for _, c := range causes {
		list = append(list, semconv.Owner(c))
	}
	return list
}

// of returns what p had of t.
func (p *party) of(t *spent) (sum time.Duration) {
	if len(p.owners) == 0 {
		return t.Generator
	}
	for _, o := range p.owners {
		sum += *o.Part(&t.Share)
	}
	return sum
}

// unknown reports whether p stands for time without a known owner.
func (p *party) unknown() bool { return p.top == "un-" }

// isGC reports whether p, which may be nil, is all of garbage collection.
func (p *party) isGC() bool { return p != nil && p.top+p.head == "gc" }

// name returns its name in a sentence about s.
func (p *party) name(s *stall.Share) string {
	switch {
	case p.isGC():
		return p.text + collectorMost(s)
	case p.top+p.head == "host":
		return p.text + machineMost(s)
	}
	return p.text
}

// collectorMost returns, in brackets, what garbage collection cost most of s.
func collectorMost(s *stall.Share) string {
	first := slices.MaxFunc(gcCauses, func(a, b stall.Cause) int { return cmp.Compare(s.Charged[a], s.Charged[b]) })
	mostly := "mostly "
	if s.Charged[first] == s.GC() {
		mostly = ""
	}
	return " (" + mostly + first.String() + ": " + collectorDid[first] + ")"
}

// collectorDid describes what a request did for the collector, by cause.
var collectorDid = map[stall.Cause]string{
	stall.GCPause:  "the world was stopped",
	stall.GCAssist: "the request marked for it",
	stall.GCSweep:  "the request swept before it could allocate",
	stall.GCWait:   "the request waited until a phase ended",
}

// slow is the tally of the requests above p99, and cycle that of those of them that
// were watched per cycle only.
type slow struct {
	Tally
	cycle Tally
}

func (j *Summary) slow() *slow { return &slow{j.sum(tail), j.sum(tail, stall.Cycle)} }

// loose returns the part of p's time that is a bound only.
func (t *slow) loose(p *party) time.Duration {
	if !p.atMost {
		return 0
	}
	return p.of(&t.cycle.spent)
}

// had returns what p had: an upper bound if some of it is one, unless uncertain time may
// be more of it.
func (t *slow) had(p *party) string {
	return bound(t.Of(p.of(&t.spent)), t.loose(p) > 0 && t.cycle.Share.Uncertain == 0)
}

// leaders returns the two parties that had the most time, unseen apart; nil if there is
// none.
func (t *slow) leaders() (first, second *party) {
	var most, next time.Duration
	for i := range named {
		p := &named[i]
		if p.head == "seen" {
			continue
		}
		switch d := p.of(&t.spent); {
		case d > most:
			first, second, most, next = p, first, d, most
		case d > next:
			second, next = p, d
		}
	}
	return first, second
}

// doubt returns why p need not have had more time than all parties but ahead, the one
// before it (nil for none), and nothing if there is no doubt. Of some time only an upper
// bound is known, and time that was unseen or is uncertain may be another's.
func (t *slow) doubt(p, ahead *party) string {
	if p == nil {
		return ""
	}
	open := t.Share.Unseen + t.Share.Uncertain
	is := "was unseen or is uncertain"
	switch {
	case t.Share.Uncertain == 0 || p.unknown():
		is = "was unseen"
	case t.Share.Unseen == 0:
		is = "is uncertain"
	}
	if p.unknown() {
		open -= p.of(&t.spent) // that is the party that is named
	}
	switch {
	case !t.leads(p, ahead, 0):
		return ": of requests watched per cycle it is known what stops fell into them, not what held them up"
	case !t.leads(p, ahead, open):
		return fmt.Sprintf(": %s %s, and may be another's", percent(t.Of(open)), is)
	}
	return ""
}

// leads reports whether p had as much time as each other party but ahead, in the worst
// case: none of what is only a bound was p's, and all of it, and the open time, was the
// other's.
func (t *slow) leads(p, ahead *party, open time.Duration) bool {
	for i := range named {
		open += t.loose(&named[i])
	}
	for i := range named {
		q := &named[i]
		if q == p || q == ahead || q.unknown() {
			continue
		}
		if p.of(&t.spent)-t.loose(p) < q.of(&t.spent)+open-t.loose(q) {
			return false
		}
	}
	return true
}

// perhaps returns the word before the name of a party that is in doubt.
func perhaps(doubt string) string {
	if doubt == "" {
		return ""
	}
	return "perhaps "
}

func (r *Report) blame() string {
	t := r.Summary.slow()
	slowest := textfmt.Sprintf("the %s above p99 (%s and longer)", textfmt.Many(t.Requests, "request"), r.Summary.Latency.P99)
	unseen := t.Of(t.Share.Unseen)
	first, second := t.leaders()
	if first == nil || unseen >= mostUnseen {
		s := fmt.Sprintf("To blame for p99: not known; %s of the time of %s was unseen (not watched by an exact source)", percent(unseen), slowest)
		if first != nil {
			went := "went to"
			if t.loose(first) > 0 {
				went = "may have gone to"
			}
			s += fmt.Sprintf(", and of the rest the most, %s, %s %s", t.had(first), went, first.name(&t.Share))
		}
		return s + r.garbage(t) + "."
	}
	doubt := t.doubt(first, nil)
	s := fmt.Sprintf("To blame for p99: %s%s, with %s of the time of %s%s", perhaps(doubt), first.name(&t.Share), t.had(first), slowest, doubt)
	if second != nil && t.Of(second.of(&t.spent)) >= 0.05 {
		next := ""
		if doubt == "" { // else all is perhaps
			next = perhaps(t.doubt(second, first))
		}
		s += fmt.Sprintf("; next %s%s, with %s", next, second.name(&t.Share), t.had(second))
	}
	if unseen >= much && !strings.Contains(doubt, "unseen") {
		s += fmt.Sprintf("; %s was unseen", percent(unseen))
	}
	exact := t.Share.Unseen+t.Share.Uncertain+t.cycle.Share.GC() == 0
	if exact && (first.isGC() || second.isGC() && strings.Contains(s, "; next ")) {
		return s + "." // it is said
	}
	return s + r.garbage(t) + "."
}

// garbage returns a clause on what the collector had of the time of slow requests. Unseen
// time may have been the collector's too, if it ran.
func (r *Report) garbage(t *slow) string {
	most := t.Of(t.Share.GC() + t.Share.Unseen + t.Share.Uncertain)
	if most <= 0 || r.GC.Cycles == 0 && t.Share.GC() == 0 {
		return "; garbage collection had none of it"
	}
	return "; garbage collection had " + between(t.Of(t.Share.GC()-t.cycle.Share.GC()), most)
}

func (r *Report) collector() string {
	if r.GC.Cycles == 0 {
		return "The garbage collector did not run, so it is not to blame for anything."
	}
	return textfmt.Sprintf("The garbage collector ran %s, with %s of pauses in all (longest %s). %s %s", textfmt.Many(r.GC.Cycles, "time"), r.GC.Pause, r.GC.LongestPause, r.Summary.reached(), r.Summary.mattersFor()+r.Summary.queued()+r.Summary.waited())
}

// reached returns a sentence on how many requests the collector cost time, of those that
// were watched exactly. Of the others only the pauses that are certain are known, not
// what they marked and swept.
func (j *Summary) reached() string {
	all, exact, slow, slowExact := j.sum(ToP50), j.sum(ToP50, stall.Exact), j.sum(tail), j.sum(tail, stall.Exact)
	of := func(t *Tally) string { return percent(textfmt.Ratio(t.Affected, t.Requests)) }
	switch {
	case exact.Requests == 0:
		return fmt.Sprintf("Its pauses fell for certain into %s of all requests and %s of those above p99; what else it cost them was not watched.", of(&all), of(&slow))
	case exact.Requests == all.Requests:
		return fmt.Sprintf("It cost time in %s of all requests and %s of those above p99.", of(&all), of(&slow))
	}
	s := fmt.Sprintf("It cost time in %s of the %s watched exactly; ", of(&exact), textfmt.Many(exact.Requests, "request"))
	if slowExact.Requests == 0 {
		return s + "none of them is above p99."
	}
	return s + textfmt.Sprintf("above p99 in %s of %s.", of(&slowExact), slowExact.Requests)
}

// Matter is whether garbage collection had a tenth or more of the time of the requests
// above a percentile.
type Matter struct {
	Above    string `json:"above"`
	Requests int    `json:"requests"`
	Matters  string `json:"matters"` // yes, no, or unknown: too much of the time was not watched
	// Least and Most bound its share of their time: at the least what was charged
	// in fidelity exact, at the most all that was charged, was unseen or is
	// uncertain.
	Least float64 `json:"gc_share_least"`
	Most  float64 `json:"gc_share_most"`
	// Sched is the share of waiting for a CPU while the collector worked. It is an
	// upper bound and part of neither, but without it the collector is not innocent.
	Sched float64 `json:"sched_gc"`
	// Hidden is the share of queue that was watched per cycle only: sched.gc
	// does not show in it.
	Hidden float64 `json:"queue_per_cycle"`
}

// byPercentile returns what garbage collection had above each percentile that
// there is, from p50 up.
func (j *Summary) byPercentile() []Matter {
	all := []Matter{}
	for i, name := range []string{"p50", "p90", "p99", "p99.9"} {
		from := P50ToP90 + Band(i)
		if from == AboveP999 && j.Latency.P999.IsZero() {
			break
		}
		t, exact := j.sum(from), j.sum(from, stall.Exact)
		if t.Requests == 0 {
			continue
		}
		m := Matter{
			Above: name, Requests: t.Requests, Matters: "unknown",
			Least:  t.Of(exact.Share.GC()),
			Most:   t.Of(t.Share.GC() + t.Share.Unseen + t.Share.Uncertain),
			Sched:  t.Of(t.Share.Charged[stall.SchedGC]),
			Hidden: t.Of(t.Share.Charged[stall.Queue] - exact.Share.Charged[stall.Queue]),
		}
		switch {
		case m.Least >= much:
			m.Matters = "yes"
		case m.Most+m.Sched+m.Hidden < much:
			m.Matters = "no"
		}
		all = append(all, m)
	}
	return all
}

// mattersFor returns a clause on for which of the two highest percentiles garbage
// collection matters.
func (j *Summary) mattersFor() string {
	all := j.byPercentile()
	all = all[max(0, len(all)-2):]
	slices.Reverse(all)
	if len(all) == 0 {
		return ""
	}
	by := map[string][]string{}
	sched, hidden := 0.0, 0.0
	for _, m := range all {
		by[m.Matters] = append(by[m.Matters], m.Above)
		sched, hidden = max(sched, m.Sched), max(hidden, m.Hidden)
	}
	yes, no, open := by["yes"], by["no"], by["unknown"]
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
		s += strings.Join(open, " or ") + " is not known"
	}
	s += ": it had " + sharesAbove(all)
	if sched >= much {
		s += fmt.Sprintf("; waiting for a CPU while it worked had %s, which may be its doing", upTo(sched))
	}
	if hidden >= much && len(open) > 0 {
		s += fmt.Sprintf("; %s was queue watched per cycle only, in which a wait for it does not show: run with OTELGC_EXACT_BUDGET=1", upTo(hidden))
	}
	return s + "."
}

// sharesAbove writes what garbage collection had above one percentile, or two.
func sharesAbove(all []Matter) string {
	const of = " of the requests' time above "
	first, last := &all[0], &all[len(all)-1]
	text := between(first.Least, first.Most)
	switch other := between(last.Least, last.Most); {
	case len(all) == 1:
		return text + of + first.Above
	case text == other:
		return text + of + "either"
	default:
		return text + of + first.Above + " and " + other + " above " + last.Above
	}
}

// queued returns a sentence on how much of the slow requests' queue lies in collections,
// beside what chance would give: the arrivals do not depend on the collector.
func (j *Summary) queued() string {
	slow, all := j.sum(tail, stall.Exact), j.sum(ToP50, stall.Exact)
	queue := slow.Share.Charged[stall.Queue]
	if all.ArrivedDuringGC == 0 || slow.Of(queue) < much {
		return ""
	}
	part := "none"
	if slow.QueueDuringGC > 0 {
		part = upTo(textfmt.Ratio(slow.QueueDuringGC, queue))
	}
	return fmt.Sprintf(" Of the queue above p99, where it was watched exactly, %s fell into collections; %s would be chance.",
		part, percent(textfmt.Ratio(all.ArrivedDuringGC, all.Requests)))
}

// waited returns a sentence on the band whose requests waited the largest part of their time
// behind others that the collector held up; it is empty if that is little.
func (j *Summary) waited() string {
	most, band := 0.0, NumBands
	for b := range NumBands {
		if t := j.of(b); t.Of(t.Behind.sum()) > most {
			most, band = t.Of(t.Behind.sum()), b
		}
	}
	if most < much {
		return ""
	}
	return fmt.Sprintf(" In the band %s requests waited for at most %s of their time behind other slow requests that it held up: that is in none of its shares.",
		bands[band].title, percent(most))
}
