package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Collection is what the demo needs to know of a gc.Collection.
type Collection struct {
	Index  uint64
	Cycles uint64
	Kind   gc.Kind
	Active stall.Span // from begin to end; empty if one of them is not known
	Pauses []gc.Pause // Start, End and Slack
}

// maxPausesOfOne bounds the pauses of one collection: two, and a few more when
// mark termination is retried.
const maxPausesOfOne = 4096

// Collection writes c.
func (w *Writer) Collection(c *gc.Collection) error {
	return w.write(KindCollection, func(b []byte) []byte {
		b = binary.AppendUvarint(b, c.Index)
		b = binary.AppendUvarint(b, uint64(max(0, c.Cycles)))
		b = binary.AppendUvarint(b, uint64(c.Kind))
		active := activeOf(c)
		b = binary.AppendVarint(b, int64(active.Start))
		b = binary.AppendVarint(b, int64(active.End-active.Start))
		pauses := c.Pauses[:min(len(c.Pauses), maxPausesOfOne)]
		b = binary.AppendUvarint(b, uint64(len(pauses)))
		var at stall.Instant
		for _, p := range pauses {
			b = binary.AppendVarint(b, int64(p.Start-at))
			b = binary.AppendVarint(b, int64(p.End-p.Start))
			b = binary.AppendUvarint(b, uint64(max(0, p.Slack)))
			at = p.End
		}
		return b
	})
}

// activeOf returns the time in which c was under way.
func activeOf(c *gc.Collection) stall.Span {
	start, known := c.Start.Get()
	end, over := c.End.Get()
	if !known || !over || end < start {
		return stall.Span{}
	}
	return stall.Span{Start: start, End: end}
}

// DecodeCollection decodes the payload of a frame of KindCollection.
func DecodeCollection(b []byte) (Collection, error) {
	p := payload{rest: b}
	c := Collection{Index: p.uint(), Cycles: p.uint()}
	c.Kind = gc.Kind(p.limit("kind", uint64(gc.NumKinds)))
	c.Active.Start = p.after(0)
	c.Active.End = p.after(c.Active.Start)
	if c.Active.End < c.Active.Start {
		p.fail(fmt.Errorf("collection ends %v before it begins", c.Active.Start.Sub(c.Active.End)))
	}
	n := p.limit("number of pauses", maxPausesOfOne+1)
	var at stall.Instant
	for i := uint64(0); i < n && p.err == nil; i++ {
		var v gc.Pause
		v.Start = p.after(at)
		v.End = p.after(v.Start)
		v.Slack = p.duration()
		at = v.End
		if v.End < v.Start {
			p.fail(fmt.Errorf("pause ends %v before it starts", v.Start.Sub(v.End)))
		}
		c.Pauses = append(c.Pauses, v)
	}
	return c, p.end(KindCollection)
}

// Gap writes v, a gap of the probe in the service's process. CPU and Owner are
// not written.
func (w *Writer) Gap(v *stall.Interval) error { return w.interval(KindGap, v) }

// Suspension writes v, a stop of the world that was not for the collector, as
// Gap does.
func (w *Writer) Suspension(v *stall.Interval) error { return w.interval(KindSuspension, v) }

func (w *Writer) interval(k Kind, v *stall.Interval) error {
	return w.write(k, func(b []byte) []byte {
		b = binary.AppendVarint(b, int64(v.Start))
		b = binary.AppendVarint(b, int64(v.End-v.Start))
		b = binary.AppendUvarint(b, uint64(max(0, v.Slack)))
		b = binary.AppendUvarint(b, uint64(v.Cause))
		b = binary.AppendUvarint(b, uint64(v.Scope))
		return binary.AppendUvarint(b, uint64(v.Origin))
	})
}

// DecodeGap decodes the payload of a frame of KindGap.
func DecodeGap(b []byte) (stall.Interval, error) { return decodeInterval(KindGap, b) }

// DecodeSuspension decodes the payload of a frame of KindSuspension.
func DecodeSuspension(b []byte) (stall.Interval, error) {
	v, err := decodeInterval(KindSuspension, b)
	if err == nil && v.Cause != stall.RuntimeSuspension {
		err = fmt.Errorf("decode frame %q: cause %s, want %s", KindSuspension, v.Cause, stall.RuntimeSuspension)
	}
	return v, err
}

func decodeInterval(k Kind, b []byte) (stall.Interval, error) {
	p := payload{rest: b}
	var v stall.Interval
	v.Start = p.after(0)
	v.End = p.after(v.Start)
	v.Slack = p.duration()
	v.Cause = stall.Cause(p.limit("cause", uint64(stall.NumCauses)))
	v.Scope = stall.Scope(p.limit("scope", uint64(stall.NumScopes)))
	v.Origin = stall.Origin(p.limit("source", uint64(stall.NumOrigins)))
	if v.End < v.Start {
		p.fail(fmt.Errorf("%s ends %v before it starts", intervalName(k), v.Start.Sub(v.End)))
	}
	return v, p.end(k)
}

func intervalName(k Kind) string {
	if k == KindSuspension {
		return "suspension"
	}
	return "gap"
}
