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
	clock     stall.Clock
	base      time.Time     // has a monotonic reading
	epoch     stall.Instant // of base
	tel       *telemetry.Telemetry
	meters    metric.MeterProvider
	global    bool // meters is the global one, or its stand-in
	arrival   arrivalHeader
	ignored   [arrivalFaults]atomic.Uint64 // arrivals
	accepting atomic.Bool                  // a server tells of its connections, see AcceptArrivals
	pause     pauseHook
	joinable  bool // requests have their windows in their contexts
	onWindow  func(*stall.Window, *stall.Share)
	place     *stall.Place
	first     uint64  // index of the last collection before Start
	kind      gc.Kind // of every collection of this process

	watcher  *gcwatch.Watcher
	watching *reader
	batches  *turns // of the watcher
	atStart  gcwatch.Totals
	timeline *timeline.Timeline
	store    *traceStore
	exact    *exact
	host     *host.Board
	reading  *reader // of the board
	hosts    *host.Side
	added    []*added // by WithSource
	records  records

	outside  windowRef // of windows without a slot
	slots    *slots
	pending  pending     // windows of requests
	watched  pending     // windows of others, see Resolve
	flushNow atomic.Bool // resolve watched with what is known
	route    func(*http.Request) string
	routes   routes
	slow     slowRequests
	unmarked atomic.Uint64 // windows without a slot
	resolver resolver
	status   statusTeller
	operator *telemetry.Outbox // is told of errors
	panics   *panics
	wall     atomic.Int64 // offset of wall time, ns

	kicked  chan struct{}
	turns   *turns       // of the loop
	lately  atomic.Int64 // Instant of the last of them
	waiting atomic.Int32 // who wait in Flush
	quit    chan struct{}
	wg      sync.WaitGroup
	once    sync.Once
	end     error
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
		arrival: c.arrival, pause: c.pause, joinable: c.joinable, onWindow: c.onWindow,
		route: c.route, slow: c.slow,
		place:  board.Here(),
		kind:   gcwatch.KindOf(os.Getenv("GODEBUG")),
		exact:  newExact(clock, c.budget),
		kicked: make(chan struct{}, 1),
		turns:  newTurns(), batches: newTurns(),
		quit: make(chan struct{}),
	}
	m.panics.m, m.operator = m, telemetry.NewOutbox(operatorRoom)
	m.outside = windowRef{m: m, slot: noSlot}
	m.slots = newSlots(m)
	m.store = newTraceStore(now, clock, m.slots)
	m.meters, m.global = c.meters, c.global
	m.base = time.Now()
	m.epoch, _ = clock.At(m.base)
	m.timeline = m.store.timeline
	m.host = host.NewBoard(c.boards, m.place, clock)
	m.hosts = host.NewSide(m.host, clock)
	m.watched.asks = true
	m.resolver.m, m.resolver.evidence.m, m.resolver.pace = m, m, pacer.New(clock)
	m.resolver.longs = longs{m: m, of: make(map[int16]*long), cut: now}
	m.status.m, m.status.since, m.status.every = m, now, statusEvery
	m.wall.Store(int64(clock.Wall().Offset))
	lost := func(item, why string, n uint64) { tel.Dropped(item, why, n) }
	m.exact.report, m.exact.fail = lost, m.tellOperator
	m.host.Overrun, m.host.Fail = func(n uint64) { lost("gap", "board_overrun", n) }, m.tellOperator
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
	m.slow.start(m.panics)
	for _, s := range c.sources {
		m.add(s)
	}
	if m.host.Source != nil {
		m.reading = read(m.host.Source, m.host.Take, m.host.Failed)
	}
	m.wg.Go(m.loop)
	if c.budget > 0 {
		go m.exact.run()
	} else {
		close(m.exact.done)
	}
	return nil
}
