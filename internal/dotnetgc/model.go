package dotnetgc

import (
	"time"

	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
)

// Options of a [Model]. The zero value is the default.
type Options struct {
	// Since is when the stream began to be watched, by its own clock: the share
	// of time paused counts from there. Default: the header's SyncTicks.
	Since stall.Instant
	// FromStart says that Since is the start of the process.
	FromStart bool
}

// Model rebuilds collections and stops from events. It is not safe for
// concurrent use. All instants are nanoseconds of the stream's own clock, see
// [nettrace.Ticks].
type Model struct {
	clock   nettrace.Frequency
	pointer int
	options Options
	now     stall.Instant // of the last event

	stops   []*openStop
	open    []*collection // begun, and not handed out; by number
	last    uint64        // the largest number that was seen to begin
	counted uint64        // stops since then that have a number and no collection, at most
	before  heapAfter

	orphanEnd, orphanHistory orphan

	paused      time.Duration // by all stops for collections so far
	pausedUntil stall.Instant

	out   output
	stats Stats
}

// NewModel returns a model for the events of one process of a stream.
func NewModel(h nettrace.Header, o Options) *Model {
	m := &Model{clock: h.Frequency, pointer: h.PointerSize, options: o}
	if o.Since == 0 {
		m.options.Since = m.clock.Instant(h.SyncTicks)
	}
	return m
}

// Add takes the next event of the stream. Those of other providers are left.
func (m *Model) Add(e *nettrace.Event) {
	at := m.clock.Instant(e.Ticks)
	m.now = max(m.now, at)
	if e.IsLoss() {
		m.lost(e.Thread, e.Lost, m.clock.Instant(e.LostSince), at)
		return
	}
	if e.Provider == Provider && !m.read(e, at) {
		m.stats.Malformed++
	}
}

// read hands an event to the stop or the collection that it is of. It reports false if it is too short,
// or was before what it follows, as in a broken stream.
func (m *Model) read(e *nettrace.Event, at stall.Instant) bool {
	if s := m.stopOf(e.Thread); s != nil && at < s.latest() && isOfStop(e.ID) {
		return false
	}
	if isOfStop(e.ID) {
		return m.readOfStop(e, at)
	}
	return m.readOfCollection(e, at)
}

func (m *Model) readOfStop(e *nettrace.Event, at stall.Instant) bool {
	switch e.ID {
	case idGCSuspendEEBegin:
		reason, ok := readSuspend(e.Payload, e.Version)
		if ok {
			m.suspendBegin(e.Thread, reason, at)
		}
		return ok
	case idGCSuspendEEEnd:
		m.suspendEnd(e.Thread, at)
	case idGCRestartEEBegin:
		m.restartBegin(e.Thread, at)
	case idGCRestartEEEnd:
		m.restartEnd(e.Thread, at)
	}
	return true
}

func (m *Model) readOfCollection(e *nettrace.Event, at stall.Instant) bool {
	switch e.ID {
	case idGCStart:
		s, ok := readGCStart(e.Payload, e.Version)
		if ok {
			m.begin(s, at)
		}
		return ok
	case idGCEnd:
		number, depth, ok := readGCEnd(e.Payload, e.Version)
		if c := m.find(number); c != nil && at < c.start {
			return false
		}
		if ok {
			m.end(number, depth, e.Thread, at)
		}
		return ok
	case idGCHeapStats:
		s, ok := readHeapStats(e.Payload, e.Version)
		if ok {
			m.heapStats(s, e.Thread)
		}
		return ok
	case idGCGlobalHeapHistory:
		h, ok := readGlobalHistory(e.Payload, e.Version)
		if ok {
			m.globalHistory(h, e.Thread)
		}
		return ok
	case idGCPerHeapHistory:
		h, ok := readHeapHistory(e.Payload, e.Version, m.pointer)
		if ok {
			m.heapHistory(&h, e.Thread)
		}
		return ok
	}
	return true
}

// Idle says that nothing has arrived for a while: a collection that is over is
// handed out without the parts that did not come. It is for live streams, and
// for the timeout of their reader.
func (m *Model) Idle() {
	for _, c := range m.list() {
		if c.end != 0 && c.stopsOver() {
			m.finish(c)
		}
	}
}

// Close says that the stream has ended. A collection that still ran is handed
// out if it had a pause: that was seen whole.
func (m *Model) Close() {
	for len(m.stops) > 0 {
		m.giveUpStop(m.stops[0])
	}
	for _, c := range m.list() {
		if c.end != 0 || c.paused() {
			m.finish(c)
		} else {
			m.hole(c.start, m.now, "collection "+utoa(c.number)+" had not ended")
		}
	}
	m.open = nil
}

// Pending returns the start of the earliest stop that is not over, and whether
// there is one: whoever joins stops with requests has seen all before it.
func (m *Model) Pending() (stall.Instant, bool) {
	var first stall.Instant
	for _, s := range m.stops {
		if at := s.Start(); first == 0 || at < first {
			first = at
		}
	}
	return first, first != 0
}
