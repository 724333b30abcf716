package kernel

import (
	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

// thread is the history of one thread.
type thread struct {
	history
	begins, minor, major uint64 // events of its ring

	home  int32         // the CPU that it is pinned to
	moved stall.Instant // since when it is on another, else zero
	away  []stall.Span  // that are over, and not told to the history of the CPU

	out     perf.Record   // that has no return yet
	faulted stall.Instant // begin of a fault that has not ended, else zero
}

func (t *thread) take(r *perf.Record) {
	if r.Kind != perf.Other {
		t.locate(r)
	}
	switch r.Kind {
	case perf.Loss:
		t.lose(t.last, r.At)
		t.out, t.faulted = perf.Record{}, 0
	case perf.Switch:
		t.switched(r)
	case perf.Sample:
		t.sampled(r)
	}
	t.last = max(t.last, r.At)
}

// locate takes in on which CPU the thread was. Of a move the record may be lost: so
// every other tells of it, too.
func (t *thread) locate(r *perf.Record) {
	switch {
	case r.CPU != t.home && t.moved == 0:
		t.moved = r.At
	case r.CPU == t.home && t.moved != 0:
		t.away = append(t.away, stall.Span{Start: t.moved, End: r.At})
		t.moved = 0
	}
}

func (t *thread) switched(r *perf.Record) {
	if r.Out {
		t.out = *r
		return
	}
	if t.out.At == 0 {
		return // it was out when the ring began
	}
	k := blocked
	if t.out.Preempted {
		k = preempted
	}
	t.add(span{Span: stall.Span{Start: t.out.At, End: r.At}, kind: k, cpu: r.CPU})
	t.out = perf.Record{}
}

func (t *thread) sampled(r *perf.Record) {
	switch r.Event {
	case t.begins:
		if t.faulted != 0 { // it ended in a signal, without a word
			t.add(span{Span: stall.Span{Start: t.faulted, End: t.faulted}, kind: fault})
		}
		t.faulted = r.At
	case t.minor, t.major:
		s := span{Span: stall.Span{Start: r.At, End: r.At}, kind: fault}
		if t.faulted != 0 {
			s.Start = t.faulted
		}
		if r.Event == t.major {
			s.name = "major"
		}
		t.add(s)
		t.faulted = 0
	}
}
