package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/otelgc/otelgc/sidecar/internal/slowed"
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
		return binary.AppendUvarint(b, uint64(v.Source))
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
	v.Source = stall.Source(p.limit("source", uint64(stall.NumSources)))
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

// Hello is the first frame: the service is ready for requests.
type Hello struct {
	Address    string   `json:"address"` // host:port on the loopback interface
	GoVersion  string   `json:"go_version"`
	GOMAXPROCS int      `json:"gomaxprocs"`
	CPUs       int      `json:"cpus"`
	ProbeMode  string   `json:"probe_mode"`           // of the probe in the process
	ProbeNote  string   `json:"probe_note,omitempty"` // why it is not the mode that was asked for
	Notes      []string `json:"notes,omitempty"`      // what did not go as it should, for the reader
	LiveHeap   uint64   `json:"live_heap"`            // bytes, as built
}

// Farewell is the last frame, read after the load has settled.
type Farewell struct {
	// RuntimeCycles is the difference of /gc/cycles/total:gc-cycles since the
	// monitor was started, Collections the monitor's own count.
	RuntimeCycles uint64 `json:"runtime_cycles"`
	Collections   uint64 `json:"collections"`
	PauseNanos    int64  `json:"pause_ns"` // sum of all pauses
	GCCPUNanos    int64  `json:"gc_cpu_ns"`
	Allocated     uint64 `json:"allocated"` // bytes
	// Slowed are the collections that the machine made pause long.
	Slowed  slowed.Tally `json:"slowed,omitzero"`
	Windows uint64       `json:"windows"` // resolved
	// Lost is the number of collections and suspensions that were dropped before
	// they could be handed on.
	Lost      uint64   `json:"lost,omitempty"`
	Forced    uint64   `json:"forced,omitempty"` // stops or cycles that the injection caused
	ProbeSeen int64    `json:"probe_seen_ns"`    // time that the probe in the process observed
	Notes     []string `json:"notes,omitempty"`
}

// Hello writes h.
func (w *Writer) Hello(h *Hello) error { return w.json(KindHello, h) }

// Farewell writes f.
func (w *Writer) Farewell(f *Farewell) error { return w.json(KindFarewell, f) }

// longestFailure bounds the text of a failure, in bytes.
const longestFailure = 4096

// Failure writes why the service ends before its time.
func (w *Writer) Failure(err error) error {
	text := err.Error()
	return w.write(KindFailure, func(b []byte) []byte { return append(b, text[:min(len(text), longestFailure)]...) })
}

func (w *Writer) json(k Kind, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode frame %q: %w", k, err)
	}
	return w.write(k, func(b []byte) []byte { return append(b, text...) })
}

// DecodeHello decodes the payload of a frame of KindHello.
func DecodeHello(b []byte) (Hello, error) {
	var h Hello
	if err := json.Unmarshal(b, &h); err != nil {
		return h, fmt.Errorf("decode frame %q: %w", KindHello, err)
	}
	return h, nil
}

// DecodeFarewell decodes the payload of a frame of KindFarewell.
func DecodeFarewell(b []byte) (Farewell, error) {
	var f Farewell
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("decode frame %q: %w", KindFarewell, err)
	}
	return f, nil
}
