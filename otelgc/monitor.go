package otelgc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/host"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// ErrStarted says that a monitor runs in this process already.
var ErrStarted = errors.New("a monitor runs in this process already")

// started guards what a process has only one of: the tracer, and the count of
// its collections. It is the one variable of the package.
var started atomic.Bool

// Monitor watches this process. All methods may be called from any goroutine,
// and on a nil Monitor, which watches nothing.
type Monitor struct {
	clock    stall.Clock
	now      fastClock
	tel      *telemetry.Telemetry
	meters   meters
	place    *stall.Place
	kind     gc.Kind // of every collection of this process
	cycles   cycles
	store    *traceStore
	exact    *exact
	timeline *timeline.Timeline // of the stops that cycles and exact see
	machine  machine
	added    []*added // by WithSource
	windows  windows
	requests requests
	resolver resolver
	records  records
	pause    pauseHook
	status   statusTeller
	operator *telemetry.Outbox // is told of errors
	panics   *panics
	loop     *loop
	once     sync.Once
	end      error
}

// fastClock is the clock for the path of a request: without a copy of [stall.Clock],
// which is an eighth of what a reading costs.
type fastClock struct {
	base  time.Time     // has a monotonic reading
	epoch stall.Instant // of base
}

func (c *fastClock) instant() stall.Instant { return c.epoch.Add(time.Since(c.base)) }

// meters is the provider of meters of the program.
type meters struct {
	metric.MeterProvider
	global bool // it is the global one, or its stand-in
}

// windows are the windows that are open, or have ended and wait for their shares.
type windows struct {
	slots    *window.Slots
	refs     *[window.SlotCount]windowRef // of windows with a slot, by that
	outside  windowRef                    // of windows without one
	unmarked atomic.Uint64                // windows without a slot, though they were to be followed
	pending  window.Queue                 // of requests
	watched  window.Queue                 // of others, see Resolve
	flushNow atomic.Bool                  // resolve watched with what is known
}

// requests is what is asked of requests, and about them.
type requests struct {
	arrival   arrivalHeader
	ignored   [arrivalFaults]atomic.Uint64 // arrivals
	accepting atomic.Bool                  // a server says when it accepts, see AcceptArrivals
	joinable  bool                         // requests have their windows in their contexts
	route     func(*http.Request) string
	routes    routes
	slow      slowRequests
	onWindow  func(*stall.Window, *stall.Share)
}

// cycles are the collections as the runtime counts them.
type cycles struct {
	watcher  *gcwatch.Watcher
	watching *reader
	batches  *turns
	atStart  gcwatch.Totals
	first    uint64 // index of the last collection before Start
}

// machine is what the machine does to this process.
type machine struct {
	board   *host.Board
	reading *reader // of the board
	side    *host.Side
}

// Start begins to watch this process. A second monitor in one process is
// refused with [ErrStarted]. One that follows on another has sums of its own: on the
// same provider of meters the counters of requests begin again at zero. Anything
// that cannot be had here, such as the tracer or the board, is done without and said
// in the telemetry. In a bubble of testing/synctest, whose time is not the machine's,
// Start is refused with [stall.ErrNotSupported]; a monitor that runs outside may be
// used in one, but windows that begin or end in it are counted as dropped.
func Start(opts ...Option) (*Monitor, error) {
	m, c, err := prepare(opts)
	if err == nil {
		err = m.run(c)
	}
	if err != nil {
		return nil, fmt.Errorf("otelgc: start: %w", err)
	}
	return m, nil
}

// prepare returns a monitor that is to run.
func prepare(opts []Option) (*Monitor, config, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, c, err
	}
	if !started.CompareAndSwap(false, true) {
		return nil, c, ErrStarted
	}
	m, err := build(&c)
	if err != nil {
		started.Store(false)
	}
	return m, c, err
}

// build returns the monitor of a configuration, and takes out of that what cannot be
// had here.
func build(c *config) (*Monitor, error) {
	clock, err := stall.NewClock()
	if err != nil {
		return nil, err
	}
	boot, bootless := stall.BootID()
	panics := new(panics)
	tel, err := newTelemetry(*c, clock, boot, panics)
	if err != nil {
		return nil, err
	}
	var inexact error
	if c.budget > 0 {
		if inexact = untraceable(clock); inexact != nil {
			c.budget = 0
		}
	}
	m := newMonitor(*c, clock, tel, panics)
	m.tellWithout(bootless, inexact)
	return m, nil
}

func newMonitor(c config, clock stall.Clock, tel *telemetry.Telemetry, panics *panics) *Monitor {
	now := clock.Now()
	m := &Monitor{
		clock: clock, tel: tel, panics: panics,
		requests: requests{arrival: c.arrival, joinable: c.joinable, onWindow: c.onWindow, route: c.route, slow: c.slow},
		meters:   meters{c.meters, c.global},
		place:    board.Here(),
		kind:     gcwatch.KindOf(os.Getenv("GODEBUG")),
		cycles:   cycles{batches: newTurns()},
		exact:    newExact(clock, c.budget),
		pause:    c.pause,
		loop:     newLoop(),
	}
	m.panics.m, m.operator = m, telemetry.NewOutbox(operatorRoom)
	m.windows.outside = windowRef{m: m, slot: window.NoSlot}
	m.windows.refs = new([window.SlotCount]windowRef)
	for i := range m.windows.refs {
		m.windows.refs[i] = windowRef{m: m, slot: int16(i)}
	}
	m.windows.slots = window.NewSlots()
	m.store = newTraceStore(now, clock, m.windows.slots)
	m.now.base = time.Now()
	m.now.epoch, _ = clock.At(m.now.base)
	m.timeline = m.store.timeline
	m.machine.board = host.NewBoard(c.boards, m.place, clock)
	m.machine.side = host.NewSide(m.machine.board, clock)
	m.windows.watched.Asks = true
	m.resolver.m, m.resolver.evidence.m, m.resolver.pace = m, m, pacer.New(clock)
	m.resolver.longs = longs{m: m, of: make(map[int16]*long), cut: now}
	m.status.m, m.status.since, m.status.every = m, now, statusEvery
	m.status.wall.Store(int64(clock.Wall().Offset))
	lost := func(item, why string, n uint64) { tel.Dropped(item, why, n) }
	m.exact.report, m.exact.fail = lost, m.tellOperator
	m.machine.board.Overrun, m.machine.board.Fail = func(n uint64) { lost("gap", "board_overrun", n) }, m.tellOperator
	m.exact.learn = m
	m.exact.slowest = func() time.Duration { return time.Duration(m.resolver.slowest.Load()) }
	return m
}

// run starts everything that has a goroutine.
func (m *Monitor) run(c config) error {
	if err := m.watch(); err != nil {
		m.stop(context.Background())
		started.Store(false)
		return errors.Join(err, m.end)
	}
	m.pause.start(m.panics)
	m.requests.slow.start(m.panics)
	for _, s := range c.sources {
		m.add(s)
	}
	if m.machine.board.Source != nil {
		m.machine.reading = read(m.machine.board.Source, m.machine.board.Take, m.machine.board.Failed)
	}
	m.loop.start(m.turn)
	if c.budget > 0 {
		go m.exact.run()
	} else {
		close(m.exact.done)
	}
	return nil
}
