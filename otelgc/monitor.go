package otelgc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/exact"
	"github.com/otelgc/otelgc/otelgc/internal/host"
	"github.com/otelgc/otelgc/otelgc/internal/resolve"
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
	path     *path
	here     here
	tel      output
	operator *operator
	cycles   cycles
	exact    *exact.Tracer
	timeline *timeline.Timeline // of the stops that cycles and exact see
	machine  machine
	added    []*added // by WithSource
	windows  windows
	resolver *resolve.Resolver // of windows
	requests requests
	records  records
	hooks    hooks
	status   statusTeller
	loop     *loop
	end      end
}

// here is this process: its clock, and where it runs.
type here struct {
	clock stall.Clock
	place *stall.Place
}

// output is where the telemetry goes.
type output struct {
	*telemetry.Telemetry
	meters meters
}

// meters is the provider of meters of the program.
type meters struct {
	metric.MeterProvider
	global bool // it is the global one, or its stand-in
}

// windows are the windows that are open, or have ended and wait for their shares.
type windows struct {
	*window.Set
	refs     *[window.SlotCount]windowRef // of windows with a slot, by that
	outside  windowRef                    // of windows without one
	unmarked atomic.Uint64                // windows without a slot, though they were to be followed
	spanless int                          // requests in a row that were asked and had no span; of who resolves
}

// requests is how the middleware measures requests.
type requests struct {
	arrival   arrivalHeader
	ignored   [arrivalFaults]atomic.Uint64 // arrivals
	accepting atomic.Bool                  // a server says when it accepts, see AcceptArrivals
	joinable  bool                         // requests have their windows in their contexts
	routes    routes
}

// hooks are functions of the program that are called with what becomes known.
type hooks struct {
	pause    pauseHook
	slow     slowRequests
	onWindow func(*stall.Window, *stall.Share)
	onSlow   slowHook
	// observers are companions that see requests; the list is never changed.
	observers atomic.Pointer[[]entry.Observer]
	capturer  atomic.Pointer[entry.Capturer] // nil for none
	// explaining is held by who offers a sentence to slow: the resolver, or the capturer.
	explaining sync.Mutex
}

// cycles are the collections as the runtime counts them.
type cycles struct {
	watcher  *gcwatch.Watcher
	watching *reader
	batches  *turns
	atStart  gcwatch.Totals
	first    uint64  // index of the last collection before Start
	kind     gc.Kind // of all of them
}

// machine is what the machine does to this process.
type machine struct {
	board   *host.Board
	reading *reader // of the board
	side    *host.Side
}

// end is the end of a monitor.
type end struct {
	once sync.Once
	err  error // of Shutdown
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
	o := newOperator()
	tel, err := newTelemetry(*c, clock, boot, o)
	if err != nil {
		return nil, err
	}
	var inexact error
	if c.budget > 0 {
		if inexact = exact.Untraceable(clock); inexact != nil {
			c.budget = 0
		}
	}
	m := newMonitor(*c, clock, tel, o)
	o.without(bootless, inexact)
	return m, nil
}

func newMonitor(c config, clock stall.Clock, tel *telemetry.Telemetry, o *operator) *Monitor {
	now := clock.Now()
	m := &Monitor{
		path: new(path),
		here: here{clock: clock, place: board.Here()}, tel: output{tel, meters{c.meters, c.global}}, operator: o,
		cycles:   cycles{batches: newTurns(), kind: gcwatch.KindOf(os.Getenv("GODEBUG"))},
		timeline: timeline.New(now),
		windows:  windows{refs: new([window.SlotCount]windowRef)},
		requests: requests{arrival: c.arrival, joinable: c.joinable},
		hooks:    hooks{pause: c.pause, slow: c.slow, onWindow: c.onWindow, onSlow: c.onSlow},
		loop:     newLoop(),
	}
	m.windows.Set = window.NewSet(&m.path.ended)
	begin := time.Now()
	at, _ := clock.At(begin)
	m.path.epoch = begin.Add(-time.Duration(at))
	m.path.route = c.route
	m.path.spans.Store(true)
	m.path.askFrom.Store(int64(m.hooks.showFrom()))
	m.path.arrives.Store(c.arrival.name != "")
	o.dropped = tel.Dropped
	m.windows.outside = windowRef{m: m, slot: window.NoSlot}
	for i := range m.windows.refs {
		m.windows.refs[i] = windowRef{m: m, slot: int16(i)}
	}
	m.exact = exact.New(exact.Options{
		Clock: clock, Budget: c.budget, Since: now, Slots: m.windows.Slots, Timeline: m.timeline, Observer: observer{m},
		Marking: &m.path.marking,
	})
	m.machine.board = host.NewBoard(c.boards, m.here.place, clock)
	m.machine.board.Overrun, m.machine.board.Fail = func(n uint64) { tel.Dropped("gap", "board_overrun", n) }, o.report
	m.machine.side = host.NewSide(m.machine.board, clock)
	m.resolver = resolve.New(resolve.Options{
		Clock: clock, Place: m.here.place, Since: now, Windows: m.windows.Set,
		Tracer: m.exact, Timeline: m.timeline, Board: m.machine.board, WantsPieces: m.hooks.wantsPieces, Conclude: m.conclude,
	})
	m.status = statusTeller{m: m, since: now, every: statusEvery}
	m.status.wall.Store(int64(clock.Wall().Offset))
	return m
}

// run starts everything that has a goroutine.
func (m *Monitor) run(c config) error {
	if err := m.watch(); err != nil {
		m.stop(context.Background())
		started.Store(false)
		return errors.Join(err, m.end.err)
	}
	m.hooks.pause.start(m.operator)
	m.hooks.slow.start(m.operator)
	for _, s := range c.sources {
		m.add(s)
	}
	if m.machine.board.Source != nil {
		m.machine.reading = read(m.machine.board.Source, m.machine.board.Take, m.machine.board.Failed)
	}
	m.loop.start(m.turn)
	m.exact.Start()
	return nil
}
