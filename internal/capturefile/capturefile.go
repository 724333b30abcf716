// Package capturefile is the JSON document of a slow request that otelgc/capture has kept,
// and that otelgc-sidecar report reads.
package capturefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Schema names the document. Fields are only ever added.
const Schema = "otelgc.capture/1"

// Magic is what every document begins with.
const Magic = `{"schema":"otelgc.capture/`

// Document is a slow request. Instants are CLOCK_MONOTONIC of its machine, durations
// nanoseconds; what is not known is absent.
type Document struct {
	Schema  string    `json:"schema"`
	Time    time.Time `json:"time"` // of Start, by the wall clock
	BootID  string    `json:"boot_id,omitempty"`
	PID     int       `json:"pid"`
	Runtime string    `json:"runtime"` // such as "go1.26.1"
	Request Request   `json:"request"`

	P99    time.Duration `json:"p99,omitempty"`    // of the requests of the last minutes
	Median *Request      `json:"median,omitempty"` // one of them that took about as long as their median

	Collections []gc.Collection `json:"collections"`   // that were under way meanwhile, and those that just ended or began
	Stops       []Stop          `json:"stops"`         // of the world, that were not for garbage collection
	Gaps        []Gap           `json:"gaps,omitzero"` // of the machine; absent if no sidecar watched it

	Trace  string     `json:"trace,omitempty"` // name of the execution trace beside the document
	Traced stall.Span `json:"traced"`          // when that was
}

// Request is the request itself.
type Request struct {
	Route      string `json:"route,omitempty"`
	TraceID    string `json:"trace_id,omitempty"`
	SpanID     string `json:"span_id,omitempty"`
	stall.Span        // from Arrival, where it is known
	// Handler is the time from the handler's first instruction to its last.
	Handler  stall.Span                   `json:"handler"`
	Duration time.Duration                `json:"duration"`
	Fidelity stall.Fidelity               `json:"fidelity"`
	Coverage float64                      `json:"coverage"` // part of Duration in which the runtime was watched exactly
	Share    map[stall.Part]time.Duration `json:"share"`    // sums to Duration
	Sentence string                       `json:"sentence"`
	Pieces   []stall.Piece                `json:"pieces"`                  // in order, without a gap
	Coarse   bool                         `json:"pieces_coarse,omitempty"` // there were more: each has the part with most of it
}

// Stop is a stop of the world that was not for garbage collection.
type Stop struct {
	stall.Span
	Cause  stall.Cause `json:"cause"`
	Reason string      `json:"reason,omitempty"` // the runtime's own
	Caller string      `json:"caller,omitempty"` // function that asked for it
}

// Gap is a gap of the machine.
type Gap struct {
	stall.Span
	Cause stall.Cause `json:"cause"`
	Scope stall.Scope `json:"scope"`
}

// maxBytes bounds a document. One with as many pieces, collections and stops as a monitor
// keeps has a tenth of that.
const maxBytes = 16 << 20

// Read reads a document, and checks that its parts fit together. Errors name the byte, or
// the piece.
func Read(from io.Reader) (*Document, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read capture: %w", err)
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("read capture: more than %d bytes", maxBytes)
	}
	d := new(Document)
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(d); err != nil {
		at := decoder.InputOffset()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			at = int64(len(data))
		}
		return nil, fmt.Errorf("decode capture at byte %d: %w", at, err)
	}
	if d.Schema != Schema {
		return nil, fmt.Errorf("decode capture: schema %q, want %q", d.Schema, Schema)
	}
	if err := d.Request.check(); err != nil {
		return nil, fmt.Errorf("decode capture: %w", err)
	}
	if d.Median != nil {
		if err := d.Median.check(); err != nil {
			return nil, fmt.Errorf("decode capture: median: %w", err)
		}
	}
	return d, nil
}

// check checks that the pieces fill the request, and sum to its share.
func (q *Request) check() error {
	if q.Duration < 0 || q.Start > q.End || q.End.Sub(q.Start) != q.Duration {
		return fmt.Errorf("duration %d of a request from %d to %d", q.Duration, q.Start, q.End)
	}
	sums := make(map[stall.Part]time.Duration)
	at := q.Start
	for i, p := range q.Pieces {
		if p.Start != at || p.End <= p.Start {
			return fmt.Errorf("piece %d from %d to %d: want one that begins at %d", i, p.Start, p.End, at)
		}
		at = p.End
		sums[p.Part] += p.End.Sub(p.Start)
	}
	if len(q.Pieces) > 0 && at != q.End {
		return fmt.Errorf("the pieces end at %d, want %d", at, q.End)
	}
	var sum time.Duration
	for part, d := range q.Share {
		if d < 0 || len(q.Pieces) > 0 && !q.Coarse && sums[part] != d {
			return fmt.Errorf("share of %s: got %d, want the %d of its pieces", part, d, sums[part])
		}
		if sum += d; sum > q.Duration {
			break
		}
	}
	if sum != q.Duration {
		return fmt.Errorf("the share sums to %d or more, want %d", sum, q.Duration)
	}
	return nil
}

// Strip returns the request as it is drawn; without pieces there is nothing to draw.
func (d *Document) Strip() *strip.Request {
	r := d.Request.strip()
	r.Name, r.Sentence = cmp.Or(d.Request.Route, "request"), d.Request.Sentence+"."
	r.AddCollections(d.Collections)
	for _, s := range d.Stops {
		r.Stops = append(r.Stops, stall.Interval{Start: s.Start, End: s.End, Cause: s.Cause})
	}
	if d.Gaps != nil {
		r.Gaps = []stall.Interval{}
	}
	for _, g := range d.Gaps {
		r.Gaps = append(r.Gaps, stall.Interval{Start: g.Start, End: g.End, Cause: g.Cause, Scope: g.Scope})
	}
	return r
}

// Beside returns the median request as it is drawn beside the other, nil if there is none.
func (d *Document) Beside() *strip.Request {
	if d.Median == nil {
		return nil
	}
	r := d.Median.strip()
	r.Name = "a median request"
	return r
}

func (q *Request) strip() *strip.Request {
	r := &strip.Request{Pieces: q.Pieces, Sums: new(stall.Share), Coarse: q.Coarse}
	for part, t := range q.Share {
		*r.Sums.Of(part) = t
	}
	return r
}
