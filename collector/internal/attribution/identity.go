package attribution

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
)

// maxName bounds every name that is kept of somebody else's telemetry.
const maxName = 256

// Attributes of the semantic conventions by which a process is found.
const (
	attrContainerID   = "container.id"
	attrPodUID        = "k8s.pod.uid"
	attrContainerName = "k8s.container.name"
	attrInstanceID    = "service.instance.id"
	attrServiceName   = "service.name"
	// madeUp is how the name of a service begins that an SDK made up.
	madeUp = "unknown_service"
)

// identity is what a resource, or an event, says of where it comes from. What it
// does not say is empty.
type identity struct {
	boot      string // otelgc.boot.id
	hostID    string // host.id
	hostName  string // host.name
	container string // container.id
	pod, name string // k8s.pod.uid, k8s.container.name
	instance  string // service.instance.id
	service   string // service.name
	created   string // process.creation.time
	number    int32  // process.pid
	stamped   bool   // by an agent, where that is asked for; never of spans
}

// identify reads the identity from attributes; what comes later overrides.
func identify(of ...pcommon.Map) (id identity) {
	for _, m := range of {
		id.readAll(m)
	}
	return id
}

func (id *identity) readAll(m pcommon.Map) {
	for k, v := range m.All() {
		id.read(k, v)
	}
}

func (id *identity) read(key string, v pcommon.Value) {
	var field *string
	switch key {
	case semconv.AttrBootID:
		field = &id.boot
	case semconv.AttrHostID:
		field = &id.hostID
	case semconv.AttrHostName:
		field = &id.hostName
	case semconv.AttrProcessCreation:
		field = &id.created
	case attrContainerID:
		field = &id.container
	case attrPodUID:
		field = &id.pod
	case attrContainerName:
		field = &id.name
	case attrInstanceID:
		field = &id.instance
	case attrServiceName:
		field = &id.service
	case semconv.AttrProcessPID:
		id.number = processNumber(v)
		return
	default:
		return
	}
	// What is too long is not what it should be.
	if *field = ""; v.Type() == pcommon.ValueTypeStr && len(v.Str()) <= maxName {
		*field = v.Str()
	}
	if strings.HasPrefix(id.service, madeUp) {
		id.service = ""
	}
}

// processNumber returns a pid, 0 for what cannot be one.
func processNumber(v pcommon.Value) int32 {
	if v.Type() != pcommon.ValueTypeInt || v.Int() <= 0 || v.Int() > 1<<30 {
		return 0
	}
	return int32(v.Int())
}

// identifySpans reads the identity of the process that all spans of rs are of.
// Who makes its own resource may not have the boot id on it: then the spans that
// were annotated in process say it, if they agree.
func identifySpans(rs ptrace.ResourceSpans) identity {
	id := identify(rs.Resource().Attributes())
	if id.boot != "" {
		return id
	}
	said := id
	for _, ss := range rs.ScopeSpans().All() {
		for _, s := range ss.Spans().All() {
			boot, ok := s.Attributes().Get(semconv.AttrBootID)
			if !ok {
				continue
			}
			own := id
			own.read(semconv.AttrBootID, boot)
			if pid, ok := s.Attributes().Get(semconv.AttrProcessPID); ok {
				own.read(semconv.AttrProcessPID, pid)
			}
			if said.boot != "" && said != own {
				return id
			}
			said = own
		}
	}
	return said
}

// text returns a string attribute, empty if it is too long to be what it should.
func text(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr && len(v.Str()) <= maxName {
		return v.Str()
	}
	return ""
}
