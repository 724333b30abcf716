package main

import (
	"math"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
)

// tally counts what comes out, and holds the charges against what was sent.
type tally struct {
	received atomic.Int64
	told     atomic.Int64 // events of slow spans
	whole    atomic.Int64 // watched from start to end
	part     atomic.Int64 // in part, or not at all
	bare     atomic.Int64 // went on as they came
	wrong    atomic.Int64 // watched, and charged otherwise than they were stopped
}

// within is the least that two accounts of a span's pauses may differ, seconds:
// of a float64, and of two clocks that are one.
const within = 1.5e-6

func (r *tally) slow(ld plog.Logs) { r.told.Add(int64(ld.LogRecordCount())) }

func (r *tally) spans(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				r.span(s)
			}
		}
	}
}

func (r *tally) span(s ptrace.Span) {
	r.received.Add(1)
	m := s.Attributes()
	coverage, ok := m.Get(semconv.AttrCoverage)
	switch {
	case !ok:
		r.bare.Add(1)
		return
	case coverage.Double() < 1:
		r.part.Add(1)
		return
	}
	r.whole.Add(1)
	figure := func(name string) float64 {
		if v, ok := m.Get(name); ok {
			return v.Double()
		}
		return 0
	}
	if off := math.Abs(figure(semconv.AttrStallPrefix+"gc.pause") - figure(attrWant)); off > within+figure(semconv.AttrStallPrefix+"uncertain") {
		r.wrong.Add(1)
	}
}
