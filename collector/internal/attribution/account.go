package attribution

import (
	"sync"
	"time"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// account is the one that keeps MaxBytes and MaxSpans: of the memory of the
// spans that are held, of what is known of hosts and processes, and of the sums
// of services. It has a lock of its own.
type account struct {
	maxBytes, maxSpans int

	mu                  sync.Mutex
	spans               int // held
	held, known, summed int // bytes
}

const (
	// What is known may take half of the memory, and an eighth is never lent
	// to spans and sums: spans can wait for nothing if no host is known.
	mostKnown  = 2
	leastKnown = 8
	// mostSummed is the part that the sums may take.
	mostSummed = 8
)

// hold counts spans if there is room.
func (a *account) hold(spans, bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if spans > a.maxSpans-a.spans || bytes > a.free() {
		return false
	}
	a.spans += spans
	a.held += bytes
	return true
}

// free returns how much is not used, without what is left to what is known.
func (a *account) free() int {
	return a.maxBytes - a.held - a.summed - max(a.known, a.maxBytes/leastKnown)
}

// handOn counts off spans that are held no more.
func (a *account) handOn(spans, bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spans -= spans
	a.held -= bytes
}

// knowable returns how much may be known while so many spans are held.
func (a *account) knowable() int { return min(a.maxBytes/mostKnown, a.maxBytes-a.held-a.summed) }

// know counts what is to be known if there is room.
func (a *account) know(bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lend(bytes, a.knowable())
}

// grow counts what is to be known more of what is known, if there is room: the
// last eighth is left to newcomers.
func (a *account) grow(bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	most := a.knowable()
	return a.lend(bytes, most-most/8)
}

func (a *account) lend(bytes, most int) bool {
	if bytes > most-a.known {
		return false
	}
	a.known += bytes
	return true
}

// plenty reports whether so little is known that more than need be may be.
func (a *account) plenty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known < a.knowable()/2
}

// forget counts off what is known no more.
func (a *account) forget(bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known -= bytes
}

// sum counts the sums of one more service if there is room.
func (a *account) sum(bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if bytes > a.maxBytes/mostSummed-a.summed || bytes > a.free() {
		return false
	}
	a.summed += bytes
	return true
}

// unsum counts off the sums of a service.
func (a *account) unsum(bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.summed -= bytes
}

// sizes returns how many spans are held, and the bytes of them and of the rest.
func (a *account) sizes() (spans, held, known int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spans, a.held, a.known + a.summed
}

// memory lends room to the lists of what is known, as they come to need it.
//
// A list begins small and grows to its limit. While there is plenty it keeps
// what it can; then only what a span that waits, or is yet to come, may want. So
// a fleet of quiet processes needs little, and a few may know of hours.
type memory struct {
	*account
	lost *lost
	wait stall.Instant // how far back a span that waits wants to know
	back stall.Instant // how far back one that is yet to come may
}

// lookBack is how far back a span that comes in time may want to know: so long
// it was, and so late it came.
const lookBack = 2 * time.Minute

// crowded counts a stall that a span that waits may want and that found no room.
func (m *memory) crowded() { m.lost.events[errRoom.Error()]++ }

// What is known takes on the heap: the structures themselves, and their part of
// maps, which are at worst half empty.
const (
	stallBytes  = 64 // of stall.Log, an interval
	pauseBytes  = 48
	cgroupBytes = 16                                   // an id, in a list that may have twice the room
	statusBytes = int(unsafe.Sizeof(semconv.Status{})) // without its cgroups
	spanOfBytes = 16                                   // a stall.Span

	// logBytes is a source with its first stalls and its unseen spans.
	logBytes = 1408 + firstStalls*stallBytes
	// processBytes is a process with its clocks, and itself in the index of identities.
	processBytes = 1328
	linkedBytes  = 224 // in another index
	// hostBytes is a host.
	hostBytes  = 1408
	probeBytes = 1104 // a probe of a host with its clocks, and its names in the index
	// serviceBytes is a service in the index of sums.
	serviceBytes = 224
	// textBytes, of a string beside its length, is the same as in spans.
)

// weight returns what the names take.
func (id *identity) weight() (n int) {
	for _, s := range [...]string{id.boot, id.hostID, id.hostName, id.container, id.pod, id.name, id.instance, id.service, id.created} {
		if s != "" {
			n += textBytes + len(s)
		}
	}
	return n
}

// weight returns what a process takes without its sources and pauses.
func (p *process) weight() int {
	n := processBytes + p.id.weight()
	for _, l := range p.id.links() {
		if l.how != 0 {
			n += linkedBytes
		}
	}
	return n
}

// owned returns what the sources, pauses and cgroups of a process take.
func (p *process) owned() int {
	n := p.pauses.bytes + len(p.cgroups)*cgroupBytes
	for _, l := range p.runtime {
		if l != nil {
			n += l.bytes
		}
	}
	return n
}

// What pdata takes on the heap, at v1.61.0: the structures themselves, the
// pointers to them, and the room at the end of slices that grew. What is sent is
// no measure: an empty attribute is two bytes there.
const (
	heldBytes  = 768 // of a held and the containers around its spans
	scopeBytes = 256
	spanBytes  = 256
	eventBytes = 96
	linkBytes  = 128
	pairBytes  = 80 // a key and a value, without what they point to
	valueBytes = 32
	textBytes  = 16 // of a string, beside its length
	// maxDepth bounds how deep values may lie in values.
	maxDepth = 32
)

// heapBytes returns about what spans take in memory, rather more than less. It
// reports false if values lie too deep in each other.
func heapBytes(rs ptrace.ResourceSpans) (n int, ok bool) {
	s := sizer{}
	s.n = heldBytes + len(rs.SchemaUrl())
	s.pairs(rs.Resource().Attributes(), 0)
	for _, ss := range rs.ScopeSpans().All() {
		s.n += scopeBytes + len(ss.Scope().Name()) + len(ss.Scope().Version()) + len(ss.SchemaUrl())
		s.pairs(ss.Scope().Attributes(), 0)
		for _, span := range ss.Spans().All() {
			s.span(span)
		}
	}
	return s.n, !s.deep
}

// resourceBytes returns about what a copy of a resource takes.
func resourceBytes(r pcommon.Resource) int {
	s := sizer{n: heldBytes}
	s.pairs(r.Attributes(), 0)
	return s.n
}

type sizer struct {
	n    int
	deep bool
}

func (s *sizer) span(span ptrace.Span) {
	s.n += spanBytes + len(span.Name()) + len(span.TraceState().AsRaw()) + len(span.Status().Message())
	s.pairs(span.Attributes(), 0)
	for _, e := range span.Events().All() {
		s.n += eventBytes + len(e.Name())
		s.pairs(e.Attributes(), 0)
	}
	for _, l := range span.Links().All() {
		s.n += linkBytes + len(l.TraceState().AsRaw())
		s.pairs(l.Attributes(), 0)
	}
}

func (s *sizer) pairs(m pcommon.Map, depth int) {
	for k, v := range m.All() {
		s.n += pairBytes + len(k)
		s.value(v, depth)
	}
}

func (s *sizer) value(v pcommon.Value, depth int) {
	if depth > maxDepth {
		s.deep = true
		return
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		s.n += textBytes + len(v.Str())
	case pcommon.ValueTypeBytes:
		s.n += valueBytes + v.Bytes().Len()
	case pcommon.ValueTypeMap:
		s.n += 2 * valueBytes
		s.pairs(v.Map(), depth+1)
	case pcommon.ValueTypeSlice:
		s.n += 2 * valueBytes
		for _, e := range v.Slice().All() {
			s.n += valueBytes
			s.value(e, depth+1)
		}
	default:
		s.n += 8
	}
}
