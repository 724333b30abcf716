package wire

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The sizes of pdata on the heap, at v1.61.0: of the structures, the pointers to them,
// and the room at the end of slices that grew. The encoded size is no measure: an empty
// attribute takes two bytes of it.
const (
	heldBytes  = 768 // of the containers around the spans of a resource, and of what holds them
	scopeBytes = 256
	spanBytes  = 256
	eventBytes = 96
	linkBytes  = 128
	pairBytes  = 80 // a key and a value, without what they point to
	valueBytes = 32
	// TextBytes is a string without its characters.
	TextBytes = 16
	// MaxDepth bounds how deep values may lie in values.
	MaxDepth = 32
)

// HeapBytes returns about what spans take in memory, rather more than less. It
// reports false if values lie too deep in each other.
func HeapBytes(rs ptrace.ResourceSpans) (n int, ok bool) {
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

// ResourceBytes returns about what a copy of a resource takes.
func ResourceBytes(r pcommon.Resource) int {
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
	if depth > MaxDepth {
		s.deep = true
		return
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		s.n += TextBytes + len(v.Str())
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

// Weight returns what the names take.
func (id *Identity) Weight() (n int) {
	for _, s := range [...]string{id.Boot, id.HostID, id.HostName, id.Container, id.Pod, id.ContainerName, id.Instance, id.Service, id.Namespace, id.Created} {
		if s != "" {
			n += TextBytes + len(s)
		}
	}
	return n
}
