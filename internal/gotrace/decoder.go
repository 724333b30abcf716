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
	cycles      []cycleEdge
	sweeps      []doneSweep
	assists     []assistEdge
	doneAssists []doneAssist
	workers     []doneWorker
	logs        []userLog
	transitions transitions
	thinned     map[uint64]uint32 // goroutines that lost transitions: up to which sequence number
	callbacks   bool              // of cgo, from threads that Go did not make
	picker      picker
	texts       [cachedTexts]string // by string id, see decoder.text
	frameBuf    []Frame
	asked       map[uint64][]Frame // by stack id, see decoder.frames
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
