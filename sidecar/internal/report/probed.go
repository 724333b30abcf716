package report

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// Probed is a probe and what it saw behind the warm-up.
type Probed struct {
	recording.Probe
	Gaps GapCounts

	first, last recording.Status // of the warm-up, of all
}

// Inside reports whether the probe runs in a process that was watched: then a
// pause of that process stops it.
func (p *Probed) Inside() bool { return p.Target != 0 }

// probe returns the probe with an ID, nil if the recording does not name it.
func (x *Experiment) probe(id int) *Probed {
	for _, p := range x.Probes {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func (b *experimentBuilder) learnProbe(v recording.Probe) {
	if v.ID > 0 && len(b.Probes) < recording.MaxProbes && b.probe(v.ID) == nil {
		b.Probes = append(b.Probes, &Probed{Probe: v, Gaps: GapCounts{floor: v.Floor}})
	}
}

func (b *experimentBuilder) gaps(v *recording.Gaps) {
	counts := &b.Common
	if v.Probe != recording.AllProbes {
		p := b.probe(v.Probe)
		if p == nil {
			b.Skipped++
			return
		}
		counts = &p.Gaps
	}
	for i := range v.List {
		g := &v.List[i]
		b.seen(g.End)
		if g.Start >= b.Results.Start {
			counts.add(g, v.Bare)
		}
	}
}

func (b *experimentBuilder) learnStatus(v *recording.Status) {
	b.seen(v.Watermark)
	b.Unrecorded = max(b.Unrecorded, v.Unrecorded)
	p := b.probe(v.Probe)
	switch {
	case p == nil && v.Target > 0:
		b.learnTargetStatus(v)
		return
	case p == nil:
		return
	}
	p.last = *v
	if v.Watermark <= b.Results.Start {
		p.first = *v
	}
}

// settleGaps computes what the gaps are to be seen against.
func (b *experimentBuilder) settleGaps() {
	all := b.pauseSpans(0)
	for _, p := range b.Probes {
		if !p.Inside() {
			p.settle(all, b.Results)
		} else {
			p.settle(b.pauseSpans(p.Target), b.Results)
			p.Gaps.charge(b.pausePlaces(p.Target))
		}
		p.Gaps.long = nil
	}
	b.Common.settle(nil, b.Results)
	b.Common.long = nil
}

// exactSlack is the largest slack of a pause whose place is known.
const exactSlack = time.Microsecond

// pausePlaces returns where the pauses of a target may be, by Start, and whether
// that is more than where they are.
func (r *Report) pausePlaces(target int) (list []stall.Span, wide bool) {
	for i := range r.Collections {
		if r.Collections[i].Target != target {
			continue
		}
		for _, p := range r.Collections[i].Pauses {
			list = append(list, stall.Span{Start: p.Start.Add(-p.Slack), End: p.End.Add(p.Slack)})
			wide = wide || p.Slack > exactSlack
		}
	}
	slices.SortFunc(list, byStart)
	return list, wide
}

func (p *Probed) settle(pauses []stall.Span, results stall.Span) {
	since := max(results.Start, p.first.Watermark, p.At)
	lost := max(0, p.last.DroppedTime-p.first.DroppedTime)
	p.Gaps.Observed = max(0, p.last.Watermark.Sub(since)-lost)
	p.Gaps.Dropped = p.last.Dropped - min(p.first.Dropped, p.last.Dropped)
	p.Gaps.settle(pauses, results)
}

// observed reports whether any probe watched behind the warm-up.
func (x *Experiment) observed() bool {
	for _, p := range x.Probes {
		if p.Gaps.Observed > 0 {
			return true
		}
	}
	return false
}
