package exact

import (
	"sync/atomic"

	"github.com/otelgc/otelgc/stall"
)

// maxRawBytes bounds the traces of all generations that are kept as they came, for those
// who keep what a window was traced in.
const maxRawBytes = maxGenerationBytes

// raw is the trace of a generation as it came.
type raw struct {
	header  []byte // of its trace
	data    []byte
	follows bool        // on the generation before, without a hole
	free    chan []byte // where the memory came from; nil if it is not to be used again
}

// rawStore says what is kept of the traces.
type rawStore struct {
	wanted atomic.Bool // from the next generation on
	size   int         // of all
}

// release gives up the trace of a generation, if it is kept.
func (s *rawStore) release(r *raw) {
	s.size -= len(r.data)
	if r.free != nil {
		select {
		case r.free <- r.data[:0]:
		default:
		}
	}
	*r = raw{}
}

// limitRaw takes in the trace of the newest generation, and gives up as many of the oldest
// as the limit asks for.
func (b *Store) limitRaw() {
	b.raw.size += len(b.live[len(b.live)-1].raw.data)
	for _, c := range b.live {
		if b.raw.size <= maxRawBytes {
			break
		}
		b.raw.release(&c.raw)
	}
}

// KeepRaw keeps the traces of the generations to come as long as what is known of them.
// Windows mark their ends from now on: who reads the trace knows them by their marks.
func (x *Tracer) KeepRaw() {
	x.readers.Add(1)
	x.Store.raw.wanted.Store(true)
}

// Raw is an execution trace of what the runtime wrote last of a time: its parts in order,
// and when it was traced. They are not to be changed.
type Raw struct {
	Parts [][]byte
	Bytes int // of all parts
	stall.Span
}

// Raw returns the last generations that overlap s, each of which follows on the one
// before: a trace has no holes. There are none if nothing is kept, or if want, which is
// asked with the number of their bytes, reports false.
func (b *Store) Raw(s stall.Span, want func(bytes int) bool) (r Raw) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []*generation
	for _, c := range b.live {
		if len(c.raw.data) == 0 || c.Span.Start >= s.End || s.Start >= c.Span.End {
			continue
		}
		if !c.raw.follows {
			found = found[:0]
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return r
	}
	r.Parts = append(r.Parts, found[0].raw.header)
	r.Span = stall.Span{Start: found[0].Span.Start, End: found[len(found)-1].Span.End}
	for _, c := range found {
		r.Parts = append(r.Parts, c.raw.data)
		r.Bytes += len(c.raw.data)
	}
	if !want(r.Bytes) {
		return Raw{}
	}
	for _, c := range found {
		c.raw.free = nil // who asked may read it for long
	}
	return r
}
