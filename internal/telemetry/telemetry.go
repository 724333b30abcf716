package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	lognoop "go.opentelemetry.io/otel/log/noop"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

const (
	// GapEventThreshold is the shortest gap that is an event. The longest gap of
	// each second is one whatever its length.
	GapEventThreshold = 50 * time.Microsecond
	// DefaultMaxEventsPerSecond is the default of Options.MaxEventsPerSecond.
	DefaultMaxEventsPerSecond = 100
)

// Options says where telemetry goes and how much of it.
type Options struct {
	Meter  metric.Meter // none if nil
	Logger log.Logger   // no events if nil
	// Detached says that Logger may block, for it is not our own. Then events go to
	// it on a goroutine that only Finish waits for. Some seconds' worth of them may
	// wait; over that they are dropped, counted, and their time is unseen. Whether
	// Logger is enabled is asked once a second.
	Detached bool

	// BootID and PID go on every event; absent if zero.
	BootID string
	PID    int
	// GoMetrics adds the registry's go.* metrics. Leave it out when another
	// instrumentation of the process emits them.
	GoMetrics bool
	// DotnetMetrics adds the dotnet.* metrics, for a .NET process. They have
	// its pause time: otelgc.gc.pause.time is left out.
	DotnetMetrics bool
	// Tasks says that the routes of requests are the names of user tasks (otelgc.task).
	Tasks bool
	// GapCPU has cpu.logical_number on otelgc.jitter.gap.duration: a series for
	// each CPU that is probed.
	GapCPU bool
	// MaxEventsPerSecond bounds the events of stalls; 100 if zero.
	MaxEventsPerSecond int

	// OnPanic, if not nil, is called with each panic of the program's code where a
	// value was recorded or an event emitted.
	OnPanic func(what string, value any)

	// Clock gives the wall time of an instant.
	Clock stall.Clock
}

func (o Options) withDefaults() Options {
	if o.Meter == nil {
		o.Meter = metricnoop.NewMeterProvider().Meter("")
	}
	if o.Logger == nil {
		o.Logger = lognoop.NewLoggerProvider().Logger("")
	}
	if o.MaxEventsPerSecond <= 0 {
		o.MaxEventsPerSecond = DefaultMaxEventsPerSecond
	}
	if o.OnPanic == nil {
		o.OnPanic = func(string, any) {}
	}
	return o
}

// What the package itself drops, and why.
const (
	itemEvent   = "event"
	itemPause   = "pause"
	itemSample  = "sample"
	whyRate     = "rate_limit"
	whyLimit    = "limit"
	whyPanic    = "panic"
	whyQueue    = "queue_full"
	whyShutdown = "shutdown"
)

// Telemetry records what the sources saw. Its methods may be called from any
// goroutine; Tick, Status and Close belong to one owner.
type Telemetry struct {
	o    Options
	wall func() stall.WallOffset

	gc       collections
	stalls   stalls
	requests requests
	losing   atomic.Bool // a loss of a sample is being counted
	losses   losses

	events     rateLimiter
	logs       eventQueue
	watermarks [stall.NumOrigins]stall.Instant // of the last status

	mu         sync.Mutex // guards registered
	registered []metric.Registration
}

type (
	gapSeries struct {
		cause  stall.Cause
		scope  stall.Scope
		origin stall.Origin
		cpu    int32 // -1 for none
	}
	dropSeries struct{ item, why string }
)

// stalls are the instruments of stalls, and of what the sources watched.
type stalls struct {
	suspension  *instrument[string]
	gap         *instrument[gapSeries]
	observed    *instrument[stall.Origin]
	utilization *instrument[string]
	coverage    *instrument[stall.Origin]
	dropped     *instrument[dropSeries]
}

func (i *stalls) make(m *maker) {
	i.suspension = newInstrument(m, semconv.MetricSuspensionDuration, func(reason string) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(semconv.AttrReason, reason)}
	})
	i.gap = newInstrument(m, semconv.MetricGapDuration, func(k gapSeries) []attribute.KeyValue {
		a := []attribute.KeyValue{
			attribute.String(semconv.AttrCause, k.cause.String()),
			attribute.String(semconv.AttrScope, k.scope.String()),
			attribute.String(semconv.AttrMode, semconv.Mode(k.origin)),
		}
		if k.cpu >= 0 {
			a = append(a, attribute.Int(semconv.AttrCPU, int(k.cpu)))
		}
		return a
	})
	i.observed = newInstrument(m, semconv.MetricObservedTime, func(s stall.Origin) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(semconv.AttrMode, semconv.Mode(s))}
	})
	i.utilization = newInstrument(m, semconv.MetricPauseUtilization, func(window string) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(semconv.AttrWindow, window)}
	})
	i.coverage = newInstrument(m, semconv.MetricCoverage, func(s stall.Origin) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(semconv.AttrSource, s.String())}
	})
	i.dropped = newInstrument(m, semconv.MetricDropped, func(k dropSeries) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(semconv.AttrItem, k.item), attribute.String(semconv.AttrErrorType, k.why)}
	})
}

// New makes the instruments. An error leaves nothing registered.
func New(o Options) (*Telemetry, error) {
	o = o.withDefaults()
	t := &Telemetry{o: o, wall: o.Clock.Wall}
	t.logs.logger, t.logs.lost = o.Logger, t.lostEvent
	if o.Detached {
		t.logs.out = NewOutbox(queuedSeconds*o.MaxEventsPerSecond + queuedStatuses)
	}
	t.events.limit, t.events.since = o.MaxEventsPerSecond, o.Clock.Now()

	m := &maker{meter: o.Meter, lost: t.lostSample}
	t.gc.make(m, &o)
	t.stalls.make(m)
	t.requests.make(m, o.Tasks)
	var err error
	if t.registered, err = m.register(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Finish sends the events that are held, and waits until those that were sent are
// taken, or ctx ends, or none is for a second. What is not taken by then never will
// be, and is counted. Nothing becomes an event after it.
func (t *Telemetry) Finish(ctx context.Context) {
	t.send(t.events.flush(true))
	if t.logs.out != nil {
		t.Dropped(itemEvent, whyShutdown, uint64(t.logs.out.Close(ctx)))
	}
}

// Close sends the events that are held and unregisters the callbacks. Nothing
// becomes an event after it. Events that are not taken yet, see Finish, never will be.
func (t *Telemetry) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	t.Finish(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, r := range t.registered {
		errs = append(errs, unregister(r))
	}
	t.registered = nil
	return errors.Join(errs...)
}

// unregister takes back a callback. A panic of the program's provider is an error.
func unregister(r metric.Registration) (err error) {
	defer survive(func(p any) { err = fmt.Errorf("unregister callback: panic: %v", p) })
	return r.Unregister()
}

// PauseUtilization records f, the share of wall time paused, 0 to 1. Window is
// "process" if it counts since the process began, "attach" if since a source
// attached to it.
func (t *Telemetry) PauseUtilization(window string, f float64) {
	t.stalls.utilization.record(context.Background(), f, window)
}

// Coverage records f, the fraction of time that source watched, 0 to 1.
func (t *Telemetry) Coverage(source stall.Origin, f float64) {
	t.stalls.coverage.record(context.Background(), f, source)
}

// Observed adds d to the time that the probe source watched.
func (t *Telemetry) Observed(source stall.Origin, d time.Duration) {
	if d > 0 {
		t.stalls.observed.record(context.Background(), d.Seconds(), source)
	}
}

// Dropped counts n items that were not kept, and why: both words are from the
// caller's closed list.
func (t *Telemetry) Dropped(item, why string, n uint64) {
	if n > 0 {
		t.losses.add([2]string{item, why}, n)
		t.stalls.dropped.record(context.Background(), float64(n), dropSeries{item, why})
	}
}

// Losses returns what [Telemetry.Dropped] has counted, by item and reason.
func (t *Telemetry) Losses() map[[2]string]uint64 {
	t.losses.mu.Lock()
	defer t.losses.mu.Unlock()
	return maps.Clone(t.losses.of)
}

// maxLosses bounds the series of losses; what is beyond is counted as other.
const maxLosses = 256

// losses are counts by item and reason.
type losses struct {
	mu sync.Mutex
	of map[[2]string]uint64
}

func (l *losses) add(of [2]string, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[[2]string]uint64{}
	}
	if _, known := l.of[of]; !known && len(l.of) >= maxLosses {
		of = [2]string{"other", "other"}
	}
	l.of[of] += n
}

// lostSample counts a value that a panic of the program's code has cost, unless it
// was the count of such values.
func (t *Telemetry) lostSample(panicked any) {
	t.o.OnPanic("an exemplar filter, a reservoir or a view of the provider of meters", panicked)
	if t.losing.CompareAndSwap(false, true) {
		defer t.losing.Store(false)
		t.Dropped(itemSample, whyPanic, 1)
	}
}

// lostEvent counts an event that a panic of the program's code has cost.
func (t *Telemetry) lostEvent(panicked any) {
	t.Dropped(itemEvent, whyPanic, 1)
	t.o.OnPanic("a processor of the provider of loggers", panicked)
}
