package spans

import (
	"os"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
)

// decorated is an ended span with attributes of ours. An ended span is read
// only, so it is wrapped: exporters read spans by these methods alone.
type decorated struct {
	sdktrace.ReadOnlySpan
	p     *processor
	added []attribute.KeyValue
}

// Attributes returns the span's own attributes and those of its share.
func (d *decorated) Attributes() []attribute.KeyValue {
	return slices.Concat(d.ReadOnlySpan.Attributes(), d.added)
}

// resolved takes the share. It runs on the monitor's goroutine.
func (d *decorated) resolved(_ *stall.Window, s *stall.Share) {
	d.added = d.p.names.of(s)
	if !d.p.offer(d) {
		// Shutdown ran out of time: next, if it still takes spans, has it late.
		d.p.next.OnEnd(d)
		d.p.passed.Add(1)
	}
}

// names are the attributes that need not be made for each span.
type names struct {
	cause    [stall.NumCauses]attribute.Key
	identity []attribute.KeyValue
	overlap  [3]attribute.KeyValue
	fidelity [2]attribute.KeyValue
}

func newNames() (n names) {
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		n.cause[c] = attribute.Key(stall.AttrStallPrefix + c.String())
	}
	if id, err := stall.BootID(); err == nil {
		n.identity = append(n.identity, attribute.String(stall.AttrBootID, id))
	}
	n.identity = append(n.identity, attribute.Int(stall.AttrProcessPID, os.Getpid()))
	for i, name := range telemetry.Overlaps() {
		n.overlap[i] = attribute.String(stall.AttrGCOverlap, name)
	}
	for _, f := range []stall.Fidelity{stall.Cycle, stall.Exact} {
		n.fidelity[f] = attribute.String(stall.AttrFidelity, f.String())
	}
	return n
}

// of returns the attributes of a share.
func (n *names) of(s *stall.Share) []attribute.KeyValue {
	size := 4 + len(n.identity)
	for c := range s.Charged {
		if s.Charged[c] > 0 {
			size++
		}
	}
	a := make([]attribute.KeyValue, 0, size)
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		if d := s.Charged[c]; d > 0 {
			a = append(a, n.cause[c].Float64(d.Seconds()))
		}
	}
	a = append(a,
		attribute.Float64(stall.AttrStallPrefix+"unseen", s.Unseen.Seconds()),
		attribute.Float64(stall.AttrCoverage, s.Coverage()),
		n.overlap[min(max(s.Collections, 0), len(n.overlap)-1)],
		n.fidelity[min(s.Fidelity, stall.Exact)],
	)
	return append(a, n.identity...)
}
