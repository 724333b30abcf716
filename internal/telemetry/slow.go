package telemetry

import (
	"context"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

var slowEvent = Event{
	semconv.EventSlowRequest,
	append([]string{
		semconv.AttrTraceID, semconv.AttrSpanID, semconv.AttrRoute, semconv.AttrFidelity,
		semconv.AttrGCOverlap, semconv.AttrSentence, semconv.AttrCoverage,
	}, stallNames()...),
	"One slow request, with its time by owner and the sentence that explains it.",
}

// stallNames returns the attributes that hold the time of one request by its
// owner.
func stallNames() (names []string) {
	for _, a := range stallAttributes() {
		names = append(names, a.Name)
	}
	return names
}

func stallAttributes() (all []Attribute) {
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		all = append(all, Attribute{semconv.AttrStallPrefix + c.String(), "float", "seconds of the request charged to this cause"})
	}
	for n, name := range restNames {
		all = append(all, Attribute{semconv.AttrStallPrefix + name, "float", restMeanings[n]})
	}
	return all
}

var restMeanings = [restOwners]string{
	ownerApp:       "seconds of the request that were the program's own: it waited by its own doing, or ran and the machine left it alone",
	ownerAppOrHost: "seconds of the request in which it ran, and nobody watched the machine for this process",
	ownerUncertain: "seconds of the request that a stall covers only within its slack, or that it may not have delayed",
	ownerUnseen:    "seconds of the request in which nobody watched the runtime exactly",
}

// Slow sends the event of one slow request. The window is that of q.
func (t *Telemetry) Slow(q *Request, w *stall.Window, source stall.Origin, sentence string) {
	ctx := context.Background()
	d := q.Share.Total
	if !t.wanted(ctx, semconv.EventSlowRequest, stall.NoOrigin, d) { // no stall: no source has lost it
		return
	}
	extent := w.Extent()
	v := stall.Interval{Start: extent.Start, End: extent.End, Origin: source}
	t.events.put(held{name: semconv.EventSlowRequest, class: classWarn, rank: d, v: v, attrs: q.slowAttributes(sentence), span: q.Span})
}

func (q *Request) slowAttributes(sentence string) attributes {
	s := q.Share
	var a attributes
	if q.Span.IsValid() {
		a.text(semconv.AttrTraceID, q.Span.TraceID().String())
		a.text(semconv.AttrSpanID, q.Span.SpanID().String())
	}
	a.text(semconv.AttrRoute, q.Route)
	a.text(semconv.AttrFidelity, s.Fidelity.String())
	a.text(semconv.AttrGCOverlap, OverlapOf(q.Collections))
	a.text(semconv.AttrSentence, sentence)
	a.float(semconv.AttrCoverage, s.Coverage())
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		if s.Charged[c] > 0 {
			a.float(semconv.AttrStallPrefix+c.String(), s.Charged[c].Seconds())
		}
	}
	for n, d := range [restOwners]time.Duration{s.App, s.AppOrHost, s.Uncertain, s.Unseen} {
		if d > 0 {
			a.float(semconv.AttrStallPrefix+restNames[n], d.Seconds())
		}
	}
	return a
}
