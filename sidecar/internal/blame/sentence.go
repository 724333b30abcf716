package blame

import (
	"fmt"
	"strings"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// Sentences says in three sentences what a person would say of the report: who
// is to blame for p99, what the garbage collector cost, and what the machine
// did. Unseen time is nobody's, and is said before anything else when it is
// most of it.
func (r *Report) Sentences() []string {
	if r.Requests == 0 {
		return []string{"Nobody can be blamed for p99: no request was answered."}
	}
	return []string{r.blame(), r.collector(), r.machine()}
}

// muchUnseen is the fraction from which on unseen time is part of the sentence,
// mostUnseen the one from which on there is nobody to name.
const (
	muchUnseen = 0.10
	mostUnseen = 0.50
)

func (r *Report) blame() string {
	t, cycle := r.tail()
	whose := fmt.Sprintf("the %s above p99 (%s and longer)", textfmt.Many(t.Requests, "request"), textfmt.Length(r.Judgement.Latency.P99))
	unseen := t.Of(t.Share.Unseen)
	first, second := t.leaders()
	had := func(p *party) string { return bound(t.Of(p.of(&t)), p.bounded(&cycle)) }
	doubt := t.doubt(first, nil, &cycle)
	var s string
	switch {
	case first == nil || unseen >= mostUnseen:
		s = fmt.Sprintf("To blame for p99: not known; %s of the time of %s was unseen (not watched by an exact source)", percent(unseen), whose)
		if first != nil {
			went := "went to"
			if first.loose(&cycle) > 0 {
				went = "may have gone to"
			}
			s += fmt.Sprintf(", and of the rest the most, %s, %s %s", had(first), went, first.name(&t.Share))
		}
		return s + r.garbage(&t, &cycle) + "."
	default:
		s = fmt.Sprintf("To blame for p99: %s%s, with %s of the time of %s%s",
			perhaps(doubt), first.name(&t.Share), had(first), whose, doubt)
	}
	if second != nil && t.Of(second.of(&t)) >= 0.05 {
		next := ""
		if doubt == "" { // else all is perhaps
			next = perhaps(t.doubt(second, first, &cycle))
		}
		s += fmt.Sprintf("; next %s%s, with %s", next, second.name(&t.Share), had(second))
	}
	if unseen >= muchUnseen && !strings.Contains(doubt, "unseen") {
		s += fmt.Sprintf("; %s was unseen", percent(unseen))
	}
	return s + r.garbage(&t, &cycle) + "."
}

// garbage says what the collector had of the tally's time: what was unseen may have
// been its, too, if it ran.
func (r *Report) garbage(t, cycle *Tally) string {
	least := t.Of(t.Share.GC() - cycle.Share.GC())
	most := t.Of(t.Share.GC() + t.Share.Unseen + t.Share.Uncertain)
	if most <= 0 || r.GC.Cycles == 0 && t.Share.GC() == 0 {
		return "; garbage collection had none of it"
	}
	return "; garbage collection had " + between(least, most)
}

// leaders returns the two who had the most time, unseen apart; nil for nobody.
func (t *Tally) leaders() (first, second *party) {
	var most, next time.Duration
	for i := range parties {
		p := &parties[i]
		if p.head == "seen" {
			continue
		}
		switch d := p.of(t); {
		case d > most:
			first, second, most, next = p, first, d, most
		case d > next:
			second, next = p, d
		}
	}
	return first, second
}

func (r *Report) collector() string {
	if r.GC.Cycles == 0 {
		return "The garbage collector did not run, so it is not to blame for anything."
	}
	return fmt.Sprintf("The garbage collector ran %s, with %s of pauses in all (longest %s). %s %s",
		textfmt.Many(r.GC.Cycles, "time"), textfmt.Length(r.GC.Pause), textfmt.Length(r.GC.LongestPause),
		r.Judgement.reached(), r.Judgement.mattersFor()+r.Judgement.queued())
}

// reached says how many requests the collector cost time, of those that were
// watched exactly: of the others the pauses that are certain alone are known, and not
// who marked or swept for it.
func (j *Judgement) reached() string {
	exact := func(r *Row) bool { return r.Fidelity == stall.Exact }
	all, seen := j.sum(func(*Row) bool { return true }), j.sum(exact)
	tail, tailSeen := j.sum(func(r *Row) bool { return r.Band.Tail() }), j.sum(func(r *Row) bool { return exact(r) && r.Band.Tail() })
	of := func(t *Tally) string { return percent(fraction(t.Affected, t.Requests)) }
	switch {
	case seen.Requests == 0:
		return fmt.Sprintf("Its pauses fell for certain into %s of all requests and %s of those above p99; what else it cost them nobody watched.", of(&all), of(&tail))
	case seen.Requests == all.Requests:
		return fmt.Sprintf("It cost time in %s of all requests and %s of those above p99.", of(&all), of(&tail))
	case tailSeen.Requests == 0:
		return fmt.Sprintf("It cost time in %s of the %s watched exactly; none of them is above p99.", of(&seen), textfmt.Many(seen.Requests, "request"))
	}
	return fmt.Sprintf("It cost time in %s of the %s watched exactly; above p99 in %s of %s.",
		of(&seen), textfmt.Many(seen.Requests, "request"), of(&tailSeen), textfmt.Count(tailSeen.Requests))
}

// muchQueue is the share of the slow requests' time from which on it is said
// whether the collector worked meanwhile.
const muchQueue = 0.10

// queued says how much of the slow requests' queue lies in collections, beside
// what chance would give: who arrives when does not depend on the collector.
func (j *Judgement) queued() string {
	exact := func(r *Row) bool { return r.Fidelity == stall.Exact }
	tail := j.sum(func(r *Row) bool { return exact(r) && r.Band.Tail() })
	all := j.sum(exact)
	queue := tail.Share.Charged[stall.Queue]
	if all.ArrivedDuringGC == 0 || tail.Of(queue) < muchQueue {
		return ""
	}
	part := "none"
	if tail.QueueDuringGC > 0 {
		part = upTo(ratio(tail.QueueDuringGC, queue))
	}
	return fmt.Sprintf(" Of the queue above p99, where it was watched exactly, %s fell into collections; %s would be chance.",
		part, percent(fraction(all.ArrivedDuringGC, all.Requests)))
}

func fraction(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
