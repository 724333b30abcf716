package spans

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// decorated is an ended span with attributes of ours. An ended span is read only, so it
// is wrapped: exporters read spans by these methods alone.
type decorated struct {
	sdktrace.ReadOnlySpan
	p           *processor
	parts       []part
	few         [2]part // what parts begins in: nearly all spans have no more
	coverage    float64
	collections uint8 // that delayed it, 2 for more
	fidelity    stall.Fidelity
}

// part is what an owner has of a span.
type part struct {
	owner semconv.Owner
	time  time.Duration
}

// Attributes returns the span's own attributes and those of its share. They are made
// when they are asked for: as attributes they are ten times as large.
func (d *decorated) Attributes() []attribute.KeyValue {
	own := d.ReadOnlySpan.Attributes()
	a := make([]attribute.KeyValue, 0, len(own)+len(d.parts)+3+len(d.p.identity))
	a = append(a, own...)
	for _, part := range d.parts {
		a = append(a, attribute.Float64(part.owner.Key(), part.time.Seconds()))
	}
	a = append(a,
		attribute.Float64(semconv.AttrCoverage, d.coverage),
		attribute.String(semconv.AttrGCOverlap, semconv.Overlap(int(d.collections))),
		attribute.String(semconv.AttrFidelity, d.fidelity.String()),
	)
	return append(a, d.p.identity...)
}

// resolved takes the share. It runs on the monitor's goroutine.
func (d *decorated) resolved(_ *stall.Window, s *stall.Share) {
	d.parts = d.few[:0]
	for o := semconv.Owner(stall.GCPause); o < semconv.NumOwners; o++ {
		if t := *o.Part(s); t > 0 || o == semconv.Unseen { // which is always there
			d.parts = append(d.parts, part{o, t})
		}
	}
	d.coverage, d.collections = s.Coverage(), uint8(min(max(s.Collections, 0), 2))
	d.fidelity = min(s.Fidelity, stall.Exact)
	d.p.put(d)
}
