package dotnetgc

import (
	"unsafe"

	"github.com/otelgc/otelgc/stall/gc"
)

// The limits of what a stream can make the model hold. What is over one is given
// up: its time is a [Hole], and it counts in Stats.Dropped.
const (
	// maxOpen bounds the collections that are not handed out. A background one
	// and an ephemeral one run at once; more only wait for their histories.
	maxOpen = 16
	// maxOpenStops bounds the threads that are stopping the world at once. One
	// holds the lock, and those that wait for it are few.
	maxOpenStops = 64
	// maxStopsOfCollection bounds the stops of one collection. A background one
	// has two, and begins anew after each end.
	maxStopsOfCollection = 16
	// maxCollectionsOfStop bounds the collections of one stop: a background one,
	// the ephemeral one before it, and the PMFullGC that may follow.
	maxCollectionsOfStop = 16
	// maxUntaken bounds each list of an [Output]. A caller that takes after every
	// event finds a few; a test that takes at the end of a capture, some
	// thousands.
	maxUntaken = 1 << 14
	// maxHeaps is MAX_SUPPORTED_HEAPS (runtime, src/coreclr/gc/gcpriv.h). A history
	// of a higher one counts as malformed.
	maxHeaps = 1 << 10
	// maxUnnamed bounds the numbers without a name that are kept apart. The names
	// become values of attributes of metrics, each of which is kept for ever: a
	// broken stream must not make as many as there are numbers.
	maxUnnamed = 64
)

// The memory of what the model holds, in bytes: no less than the heap has.
const (
	pointerBytes    = int(unsafe.Sizeof(uintptr(0)))
	numberBytes     = int(unsafe.Sizeof(uint64(0)))
	openBytes       = int(unsafe.Sizeof(collection{})+unsafe.Sizeof(heapStats{})+unsafe.Sizeof(globalHistory{})) * 5 / 4
	stopBytes       = int(unsafe.Sizeof(openStop{})) * 5 / 4
	holeBytes       = int(unsafe.Sizeof(Hole{})) + maxWhyBytes
	generationBytes = int(unsafe.Sizeof(gc.Generation{}))
	// maxWhyBytes bounds the text of a hole, or of what a collection lacks.
	maxWhyBytes = 128
	// modelBytes is the model itself, with the lists that are short.
	modelBytes = int(unsafe.Sizeof(Model{})) + 2*pointerBytes*(maxOpen+maxOpenStops)
)

// Held returns how many bytes of memory the model holds at most. It is for a
// caller that shares out memory: what is in the open collections and stops is
// bounded by the limits above, so most of it is what was not taken.
func (m *Model) Held() int {
	n := modelBytes + m.out.held + len(m.stops)*stopBytes
	for _, c := range m.open {
		n += openBytes + 2*pointerBytes*len(c.stops)
		for _, s := range c.stops {
			// A stop keeps its collections, of which each other one may be over.
			n += stopBytes + len(s.ran)*(openBytes+2*pointerBytes+2*numberBytes)
		}
	}
	return n
}

// heldBytes returns the memory of a record.
func (c *Collection) heldBytes() int {
	n := 2*int(unsafe.Sizeof(*c)) + maxWhyBytes + 2*len(c.Pauses)*int(unsafe.Sizeof(gc.Pause{})) + 2*len(c.Generations)*generationBytes
	for i := range c.Stops {
		n += c.Stops[i].heldBytes()
	}
	return n
}

func (s *Stop) heldBytes() int { return 2*int(unsafe.Sizeof(*s)) + 2*numberBytes*len(s.Collections) }
