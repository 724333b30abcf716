package gotrace

import "github.com/otelgc/otelgc/stall"

// decoder holds what is known of the generation that is being read, and what
// is carried from one to the next. Its slices are reused.
type decoder struct {
	version    int
	limits     Limits
	args       *[256]uint8 // see eventTable
	markPrefix string
	following  bool   // marks are wanted at all
	tracking   bool   // and the states of goroutines
	rest       func() // see Options.Breathe; may be nil

	// Of this generation.
	number      uint64
	clock       clock
	first, last ticks // of the threads' events; last excludes the tracer's own batches
	any         bool  // there was an event
	hole        bool  // the generation does not follow on what was read before
	events      int64
	bytes64     int64
	statuses    int
	lost        Lost
	strings     table
	stacks      table
	stops       []doneStop
	handoffs    []handoff
	ends        []ticks // of EvGCEnd, in order, while stops are resolved
	cycles      []cycleEdge
	collections []stall.Span // in order; see noteCollections
	sweeps      []doneSweep
	assists     []assistEdge
	doneAssists []doneAssist
	workers     []doneWorker
	logs        []userLog
	transitions transitions
	thinned     map[uint64]uint32 // goroutines that lost transitions: up to which sequence number
	callbacks   bool              // of cgo, from threads that Go did not make
	switches    uint64            // between coroutines; 0 if there was none
	picker      picker
	standIns    map[uint64]followed // the standNext of the generation before
	pairs       []pair
	pairsFull   bool                // merging them makes no room any more
	texts       [cachedTexts]string // by string id, see decoder.text
	frameBuf    []Frame
	asked       map[uint64][]Frame // by stack id, see decoder.frames
	collects    map[uint64]bool    // by stack id, see decoder.waitsToCollect
	heap, goals series

	// To put what is reported in order.
	stopOrder   merger[Stop]
	workerOrder merger[Worker]
	rangeOrder  merger[Range]
	markOrder   merger[Mark]

	// Across generations.
	covered     stall.Instant // the end of the generation before
	running     Cycle         // what Generation.Running points to
	threads     threads
	cycle       openCycle
	openAssists map[uint64]openAssist
	followed    map[uint64]followed
	standNext   map[uint64]followed // those who stand in for somebody, see coroutine.go
	names       names
}

func (d *decoder) noteFirst(at ticks) {
	if !d.any || at < d.first {
		d.first = at
	}
	d.any = true
}

// breathe gives the caller the chance to rest.
func (d *decoder) breathe() {
	if d.rest != nil {
		d.rest()
	}
}

// batch hands a batch to whom its first byte names. On an error the index is
// that of the event at fault.
func (d *decoder) batch(h batchHeader, data []byte, offset int64) (int, error) {
	n := h.size
	if n == 0 || h.experiment {
		return 0, nil
	}
	switch typ := eventType(data[0]); {
	case typ == evStrings:
		if !d.strings.keep(data[:n], offset, d.limits.TableBytes) {
			d.lost.Strings++
		}
	case typ == evStacks:
		if !d.stacks.keep(data[:n], offset, d.limits.TableBytes) {
			d.lost.Stacks++
		}
	case typ == evCPUSamples:
	case typ == evFrequency && d.version < go125, typ == evSync && d.version >= go125:
		return 0, d.clock.readSync(data, n, h.base, d.version)
	default:
		t, err := d.threads.get(h.thread, h.generation, d.limits.Threads)
		if err != nil {
			return 0, err
		}
		return d.decodeEvents(t, data, n, h.base)
	}
	return 0, nil
}

// endsAtEOF reports whether the end of the stream can be the end of the
// generation: before Go 1.26, if the frequency is there, without which nothing
// can be known. The format then shows no other sign of a truncation.
func (d *decoder) endsAtEOF() bool { return d.version < go126 && d.clock.frequency != 0 }
