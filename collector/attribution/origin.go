package attribution

import "go.opentelemetry.io/collector/pdata/pcommon"

// origin is where all events of one resource come from. A resource may have as many
// attributes as there is room for in a request, and as many events: it is read once,
// and if there is one of ours.
type origin struct {
	resource pcommon.Map
	id       identity
	read     bool
}

func (o *origin) identity() identity {
	if !o.read {
		o.id, o.read = identify(o.resource), true
	}
	return o.id
}
