package spans

import (
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// decorated is an ended span with attributes of ours. An ended span is read
// only, so it is wrapped: exporters read spans by these methods alone.
type decorated struct {
	sdktrace.ReadOnlySpan
	p       *processor
	charged []charge
	rest    [len(restNames)]time.Duration // as restNames
	unseen  time.Duration
	covered float64
	overlap uint8 // index into names.overlap
	exact   stall.Fidelity
}

// restNames are the owners of what is left over, but for unseen, which is always
// said.
var restNames = [...]string{"app", "app_or_host", "uncertain"}

// charge is what one cause cost the span.
type charge struct {
	cause stall.Cause
	d     time.Duration
}

// Attributes returns the span's own attributes and those of its share. They are
// made when they are asked for: as attributes they are ten times as large.
func (d *decorated) Attributes() []attribute.KeyValue {
	own := d.ReadOnlySpan.Attributes()
	a := make([]attribute.KeyValue, 0, len(own)+len(d.charged)+len(d.rest)+4+len(d.p.names.identity))
	return d.p.names.append(append(a, own...), d)
}

// resolved takes the share. It runs on the monitor's goroutine.
func (d *decorated) resolved(_ *stall.Window, s *stall.Share) {
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		if s.Charged[c] > 0 {
			d.charged = append(d.charged, charge{c, s.Charged[c]})
		}
	}
	d.rest = [...]time.Duration{s.App, s.AppOrHost, s.Uncertain}
	d.unseen, d.covered = s.Unseen, s.Coverage()
	d.overlap = uint8(min(max(s.Collections, 0), len(d.p.names.overlap)-1))
	d.exact = min(s.Fidelity, stall.Exact)
	d.p.offer(d)
}

// names are the attributes that need not be made for each span.
type names struct {
	cause    [stall.NumCauses]attribute.Key
	rest     [len(restNames)]attribute.Key
	identity []attribute.KeyValue
	overlap  [3]attribute.KeyValue
	fidelity [2]attribute.KeyValue
}

func newNames() (n names) {
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		n.cause[c] = attribute.Key(semconv.AttrStallPrefix + c.String())
	}
	for i, name := range restNames {
		n.rest[i] = attribute.Key(semconv.AttrStallPrefix + name)
	}
	if id, err := stall.BootID(); err == nil {
		n.identity = append(n.identity, attribute.String(semconv.AttrBootID, id))
	}
	n.identity = append(n.identity, attribute.Int(semconv.AttrProcessPID, os.Getpid()))
	for i, name := range semconv.Overlaps {
		n.overlap[i] = attribute.String(semconv.AttrGCOverlap, name)
	}
	for _, f := range []stall.Fidelity{stall.Cycle, stall.Exact} {
		n.fidelity[f] = attribute.String(semconv.AttrFidelity, f.String())
	}
	return n
}

// append adds the attributes of a share.
func (n *names) append(a []attribute.KeyValue, d *decorated) []attribute.KeyValue {
	for _, c := range d.charged {
		a = append(a, n.cause[c.cause].Float64(c.d.Seconds()))
	}
	for i, d := range d.rest {
		if d > 0 {
			a = append(a, n.rest[i].Float64(d.Seconds()))
		}
	}
	a = append(a,
		attribute.Float64(semconv.AttrStallPrefix+"unseen", d.unseen.Seconds()),
		attribute.Float64(semconv.AttrCoverage, d.covered),
		n.overlap[d.overlap],
		n.fidelity[d.exact],
	)
	return append(a, n.identity...)
}
