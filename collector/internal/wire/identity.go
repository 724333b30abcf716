// Package wire reads what is needed of pdata: who sent a resource, what an event says,
// the share that a span brought, and how much memory spans take. It writes shares into
// spans.
package wire

import (
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
)

// MaxName bounds every name that is kept of other senders' telemetry.
const MaxName = 256

// Attributes of the semantic conventions by which a process is found.
const (
	AttrContainerID   = "container.id"
	AttrPodUID        = "k8s.pod.uid"
	AttrContainerName = "k8s.container.name"
	AttrInstanceID    = "service.instance.id"
	AttrServiceName   = "service.name"
	AttrNamespace     = "service.namespace"
	// madeUp is how the name of a service begins that an SDK made up.
	madeUp = "unknown_service"
)

// Identity is what a resource, or an event, says of where it comes from. What it
// does not say is empty.
type Identity struct {
	Boot          string // otelgc.boot.id
	HostID        string // host.id
	HostName      string // host.name
	Container     string // container.id
	Pod           string // k8s.pod.uid
	ContainerName string // k8s.container.name
	Instance      string // service.instance.id
	Service       string // service.name
	Namespace     string // service.namespace
	Created       string // process.creation.time
	PID           int32  // process.pid
	Stamped       bool   // by an agent, where that is asked for; never of spans
	MadeUp        bool   // Instance is the sidecar's word: the process itself does not know it
}

// identify reads the identity from the attributes of a resource.
func identify(m pcommon.Map) (id Identity) {
	id.readAll(m)
	return id
}

// readAll reads attributes; a later value replaces an earlier one.
func (id *Identity) readAll(m pcommon.Map) {
	for k, v := range m.All() {
		id.read(k, v)
	}
}

func (id *Identity) read(key string, v pcommon.Value) {
	var field *string
	switch key {
	case semconv.AttrBootID:
		field = &id.Boot
	case semconv.AttrHostID:
		field = &id.HostID
	case semconv.AttrHostName:
		field = &id.HostName
	case semconv.AttrProcessCreation:
		field = &id.Created
	case AttrContainerID:
		field = &id.Container
	case AttrPodUID:
		field = &id.Pod
	case AttrContainerName:
		field = &id.ContainerName
	case AttrInstanceID:
		field = &id.Instance
	case AttrServiceName:
		field = &id.Service
	case AttrNamespace:
		field = &id.Namespace
	case semconv.AttrProcessPID:
		id.PID = processNumber(v)
		return
	case semconv.AttrInstanceSource:
		id.MadeUp = v.Type() == pcommon.ValueTypeStr && v.Str() == semconv.StampSidecar
		return
	default:
		return
	}
	// A value of another type, or one that is too long, counts as absent.
	if *field = ""; v.Type() == pcommon.ValueTypeStr && len(v.Str()) <= MaxName {
		*field = v.Str()
	}
	if strings.HasPrefix(id.Service, madeUp) {
		id.Service = ""
	}
}

// processNumber returns a pid, 0 for what cannot be one.
func processNumber(v pcommon.Value) int32 {
	if v.Type() != pcommon.ValueTypeInt || v.Int() <= 0 || v.Int() > 1<<30 {
		return 0
	}
	return int32(v.Int())
}

// IdentifySpans reads the identity of the process that all spans of rs are of. A
// resource that a program made itself may lack the boot id. Then that of the spans that
// were annotated in the process is taken, if they agree.
func IdentifySpans(rs ptrace.ResourceSpans) Identity {
	id := identify(rs.Resource().Attributes())
	if id.Boot != "" {
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
			if said.Boot != "" && said != own {
				return id
			}
			said = own
		}
	}
	return said
}

// Text returns a string attribute, empty if it is too long to be what it should.
func Text(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr && len(v.Str()) <= MaxName {
		return v.Str()
	}
	return ""
}

// Differ reports whether two names are both known, and not the same.
func Differ(a, b string) bool { return a != "" && b != "" && a != b }

// Contradicts reports whether a and b cannot be the same process. What the sidecar made up
// as an instance says nothing against the one that an SDK made up.
func (id *Identity) Contradicts(o *Identity) bool {
	return id.PID != 0 && o.PID != 0 && id.PID != o.PID ||
		Differ(id.Container, o.Container) || Differ(id.Pod, o.Pod) || Differ(id.ContainerName, o.ContainerName) ||
		id.MadeUp == o.MadeUp && Differ(id.Instance, o.Instance) || Differ(id.Boot, o.Boot) || CreatedApart(id.Created, o.Created)
}

// Strange reports whether a and b go by other names than one resource has: those of
// a process that reports of itself are the same on its events and on its spans.
func (id *Identity) Strange(o *Identity) bool {
	return Differ(id.HostID, o.HostID) || Differ(id.HostName, o.HostName) || Differ(id.Service, o.Service)
}

// creationError is how far two accounts of when a process was made may be apart:
// one is from the boot time in whole seconds.
const creationError = 2 * time.Second

// CreatedApart reports whether two creation times are those of two processes.
func CreatedApart(a, b string) bool {
	if a == "" || b == "" || a == b {
		return false
	}
	x, err1 := time.Parse(time.RFC3339Nano, a)
	y, err2 := time.Parse(time.RFC3339Nano, b)
	return err1 != nil || err2 != nil || x.Sub(y).Abs() > creationError
}

// Contained reports whether the process is in a container: its pid is then that
// of another namespace, in which there is one of each number too. Pid 1 of a
// machine is none that is watched.
func (id *Identity) Contained() bool { return id.Container != "" || id.Pod != "" || id.PID == 1 }

// Proves reports whether a and b name the same process beside their pids.
func (id *Identity) Proves(o *Identity) bool {
	same := func(a, b string) bool { return a != "" && a == b }
	return same(id.Created, o.Created) || same(id.claimed(), o.claimed()) ||
		same(id.Container, o.Container) || same(id.Pod, o.Pod) && id.ContainerName == o.ContainerName
}

// claimed returns the instance that the process itself goes by.
func (id *Identity) claimed() string {
	if id.MadeUp {
		return ""
	}
	return id.Instance
}

// SameInstance reports whether both go by an instance of which there is one alone: of
// one service, or a UUID.
func (id *Identity) SameInstance(o *Identity) bool {
	if i := id.claimed(); i == "" || i != o.claimed() {
		return false
	}
	return isUUID(id.Instance) || id.Service != "" && id.Service == o.Service && id.Namespace == o.Namespace
}

// isUUID reports whether s has the form of RFC 9562, and is not all zeros.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	some := false
	for i, c := range []byte(s) {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
			some = some || c != '0'
		default:
			return false
		}
	}
	return some
}

// Link is one way in which a span finds its process.
type Link struct {
	Kind LinkKind
	A, B string
	PID  int32
	// Stamped links lead to processes of which a stamped sender reports.
	Stamped bool
}

// LinkKind is what a span and its process have in common.
type LinkKind uint8

// The kinds of links.
const (
	ByBoot      LinkKind = iota + 1 // boot id and pid
	ByContainer                     // container id
	ByPod                           // pod and container name
	ByHost                          // id or name of the host, and pid
	ByInstance                      // the instance that the process itself goes by
)

// MostLinks is in how many ways a process can be found.
const MostLinks = 6

// Links returns the ways in which id can be found, the surest first. With a
// boot id a pid says all; a container stands in for a pid, as pids count from 1
// in each. What a process may choose comes last: it leads to one of which the machine says
// nothing else.
func (id *Identity) Links() (all [MostLinks]Link) {
	if id.Boot != "" && id.PID != 0 {
		all[0] = Link{Kind: ByBoot, A: id.Boot, PID: id.PID}
	}
	if id.Container != "" {
		all[1] = Link{Kind: ByContainer, A: id.Container}
	}
	if id.Pod != "" {
		all[2] = Link{Kind: ByPod, A: id.Pod, B: id.ContainerName}
	}
	if id.PID != 0 && id.HostID != "" {
		all[3] = Link{Kind: ByHost, A: "id", B: id.HostID, PID: id.PID}
	}
	if id.PID != 0 && id.HostName != "" {
		all[4] = Link{Kind: ByHost, A: "name", B: id.HostName, PID: id.PID}
	}
	if i := id.claimed(); i != "" {
		all[5] = Link{Kind: ByInstance, A: i}
	}
	for i := range all {
		all[i].Stamped = id.Stamped
	}
	return all
}
