package attribution

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/stall"
)

// maxName bounds every name that is kept of somebody else's telemetry.
const maxName = 256

// pid is a process of a host. Created is 0 where nobody said when it was made.
type pid struct {
	number  int64
	created string // process.creation.time
}

// identity is what a resource, or an event, says of where it comes from. What it
// does not say is empty.
type identity struct {
	boot    string // otelgc.boot.id
	host    string // host.id, else host.name
	process pid
	place   string // the container or the pod that the process is in
}

// identify reads the identity from attributes, those of an event before those of
// its resource.
func identify(of ...pcommon.Map) (id identity) {
	id.boot = text(stall.AttrBootID, of)
	if id.host = text(stall.AttrHostID, of); id.host == "" {
		id.host = text(stall.AttrHostName, of)
	}
	id.process.number, _ = number(stall.AttrProcessPID, of)
	id.process.created = text(stall.AttrProcessCreation, of)
	id.place = place(of)
	return id
}

// place returns what names a container: its id, else pod and container name.
func place(of []pcommon.Map) string {
	if id := text("container.id", of); id != "" {
		return "container " + id
	}
	if pod := text("k8s.pod.uid", of); pod != "" {
		return "pod " + pod + " " + text("k8s.container.name", of)
	}
	return ""
}

// text returns a string attribute of the first map that has it, empty if it is
// too long to be what it should.
func text(key string, of []pcommon.Map) string {
	for _, m := range of {
		if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr {
			if s := v.Str(); len(s) <= maxName {
				return s
			}
			return ""
		}
	}
	return ""
}

func number(key string, of []pcommon.Map) (int64, bool) {
	for _, m := range of {
		if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeInt {
			return v.Int(), true
		}
	}
	return 0, false
}
