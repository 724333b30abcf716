package attribution

import (
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
)

// maxName bounds every name that is kept of other senders' telemetry.
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
// A program that makes its own resource may lack the boot id on it: then the spans that
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

// differ reports whether two names are both known, and not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// contradicts reports whether a and b cannot be the same process.
func (id *identity) contradicts(o *identity) bool {
	return id.number != 0 && o.number != 0 && id.number != o.number ||
		differ(id.container, o.container) || differ(id.pod, o.pod) || differ(id.name, o.name) ||
		differ(id.instance, o.instance) || differ(id.boot, o.boot) || createdApart(id.created, o.created)
}

// strange reports whether a and b go by other names than one resource has: those of
// a process that reports of itself are the same on its events and on its spans.
func (id *identity) strange(o *identity) bool {
	return differ(id.hostID, o.hostID) || differ(id.hostName, o.hostName) || differ(id.service, o.service)
}

// creationError is how far two accounts of when a process was made may be apart:
// one is from the boot time in whole seconds.
const creationError = 2 * time.Second

// createdApart reports whether two creation times are those of two processes.
func createdApart(a, b string) bool {
	if a == "" || b == "" || a == b {
		return false
	}
	x, err1 := time.Parse(time.RFC3339Nano, a)
	y, err2 := time.Parse(time.RFC3339Nano, b)
	return err1 != nil || err2 != nil || x.Sub(y).Abs() > creationError
}

// contained reports whether the process is in a container: its pid is then that
// of another namespace, in which there is one of each number too. Pid 1 of a
// machine is none that is watched.
func (id *identity) contained() bool { return id.container != "" || id.pod != "" || id.number == 1 }

// proves reports whether a and b name the same process beside their pids.
func (id *identity) proves(o *identity) bool {
	same := func(a, b string) bool { return a != "" && a == b }
	return same(id.created, o.created) || same(id.instance, o.instance) ||
		same(id.container, o.container) || same(id.pod, o.pod) && id.name == o.name
}

// link is one way in which a span finds its process.
type link struct {
	how  how
	a, b string
	pid  int32
	// stamped links lead to processes of which a stamped sender reports.
	stamped bool
}

type how uint8

const (
	byBoot      how = iota + 1 // boot id and pid
	byContainer                // container id
	byPod                      // pod and container name
	byHost                     // id or name of the host, and pid
)

// links returns the ways in which id can be found, the surest first. With a
// boot id a pid says all; a container stands in for a pid, as pids count from 1
// in each.
func (id *identity) links() (all [5]link) {
	if id.boot != "" && id.number != 0 {
		all[0] = link{how: byBoot, a: id.boot, pid: id.number}
	}
	if id.container != "" {
		all[1] = link{how: byContainer, a: id.container}
	}
	if id.pod != "" {
		all[2] = link{how: byPod, a: id.pod, b: id.name}
	}
	if id.number != 0 && id.hostID != "" {
		all[3] = link{how: byHost, a: "id", b: id.hostID, pid: id.number}
	}
	if id.number != 0 && id.hostName != "" {
		all[4] = link{how: byHost, a: "name", b: id.hostName, pid: id.number}
	}
	for i := range all {
		all[i].stamped = id.stamped
	}
	return all
}
