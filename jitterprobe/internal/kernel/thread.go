package kernel

import (
	"sort"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

// kind is what took the CPU from the thread, in the order in which time is
// given to one of them where two overlap.
type kind uint8

const (
	preempted kind = iota // the thread could have run on, and something else did
	stopped               // it could not run on: a signal or a debugger had stopped it
	waiting               // it could not: it waited for what no signal ends
	blocked               // it could not, and why is not known or is neither
	fault                 // it had a page fault
	interrupt             // the CPU served an interrupt or a softirq
)

// kinds is a set of them.
type kinds uint8

const (
	ofOut   = 1<<preempted | ofOff // the thread was switched out
	ofOff   = 1<<stopped | 1<<waiting | 1<<blocked
	ofFault = 1 << fault
	ofAll   = ofOut | ofFault | 1<<interrupt
)

func (k kinds) has(one kind) bool { return k&(1<<one) != 0 }

// span is a stretch of time that something took.
type span struct {
	stall.Span
	kind kind
	name string // of the interrupt; "major" of a fault that needed the disk
	cpu  int32  // of a switch: where the thread ran on
}

// turn is a thread that got the CPU.
type turn struct {
	at   stall.Instant
	tid  int32 // in the initial PID namespace; 0 is idle
	comm [commSize]byte
	// why says what the thread before it does, if it could not run on.
	why kind
	// realtime says that it has real-time priority, of its own or on loan,
	// fromRealtime that the thread before it had.
	realtime, fromRealtime bool
}

const commSize = 16 // TASK_COMM_LEN, <linux/sched.h>

// maxSpans bounds what is kept of one ring: 1.5 MiB. It takes 160,000
// interrupts a second to fill it between two reads.
const maxSpans = 1 << 14

// history is what is kept of one ring, in order of the spans' ends.
type history struct {
	since stall.Instant // records are kept from then on; zero if there is no ring
	last  stall.Instant // of the newest record
	spans []span
	blind []stall.Span // where records were lost
}

func (h *history) add(s span) {
	if len(h.spans) == maxSpans {
		drop := h.spans[:maxSpans/2]
		h.lose(drop[0].Start, drop[len(drop)-1].End)
		h.spans = append(h.spans[:0], h.spans[maxSpans/2:]...)
	}
	h.spans = append(h.spans, s)
}

// maxBlind bounds the spans of lost records; the last one grows beyond it.
const maxBlind = 64

// lose notes that records of a span are missing. A span that begins before the end of
// the last one is merged with it.
func (h *history) lose(from, to stall.Instant) {
	if n := len(h.blind); n > 0 && (from <= h.blind[n-1].End || n == maxBlind) {
		last := &h.blind[n-1]
		last.Start, last.End = min(last.Start, from), max(last.End, to)
		return
	}
	h.blind = append(h.blind, stall.Span{Start: from, End: to})
}

// sees reports whether every record of s was kept.
func (h *history) sees(s stall.Span) bool {
	if h.since == 0 || s.Start < h.since {
		return false
	}
	for _, b := range h.blind {
		if b.Start <= s.End && s.Start <= b.End {
			return false
		}
	}
	return true
}

// forget drops what ended before t.
func (h *history) forget(t stall.Instant) {
	n := 0
	for n < len(h.spans) && h.spans[n].End < t {
		n++
	}
	h.spans = append(h.spans[:0], h.spans[n:]...)
	n = 0
	for n < len(h.blind) && h.blind[n].End < t {
		n++
	}
	h.blind = append(h.blind[:0], h.blind[n:]...)
}

// within appends the parts of spans that lie in s to dst.
func (h *history) within(dst []span, s stall.Span) []span {
	first := sort.Search(len(h.spans), func(i int) bool { return h.spans[i].End >= s.Start })
	// What a span contains ended before it, and in the same gap.
	for _, v := range h.spans[first:] {
		if v.Start > s.End {
			break
		}
		v.Span = v.Clip(s)
		dst = append(dst, v)
	}
	return dst
}

// thread is the history of one thread.
type thread struct {
	history
	begins, minor, major uint64 // events of its ring

	home  int32         // the CPU that it is pinned to
	moved stall.Instant // since when it is on another, else zero
	away  []stall.Span  // that are over, and not yet in the history of the CPU

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

// locate takes in on which CPU the thread was. The record of a move may be
// lost, but every later record has the new CPU, too.
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
