package attribution

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/semconv"
)

// origin is where all events of one resource come from. A resource may have as many
// attributes as there is room for in a request, and as many events: it is read once,
// and if there is one of ours.
type origin struct {
	resource pcommon.Map
	stamps   bool // count: see Config.Probes
	id       identity
	read     bool
}

func (o *origin) identity() identity {
	if !o.read {
		o.id, o.read = identify(o.resource), true
		o.id.stamped = o.stamps && text(o.resource, semconv.AttrStamp) == semconv.StampSidecar
	}
	return o.id
}
