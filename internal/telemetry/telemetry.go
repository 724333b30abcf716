package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/log"
	lognoop "go.opentelemetry.io/otel/log/noop"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"github.com/otelgc/otelgc/stall"
)

// Defaults of [Options].
const (
	DefaultGapEventThreshold  = 50 * time.Microsecond
	DefaultMaxEventsPerSecond = 100
)

// Options says where telemetry goes and how much of it.
type Options struct {
	Meter  metric.Meter // none if nil
	Logger log.Logger   // no events if nil
	// Detached says that Logger may block, for it is not our own: then events go to
	// it on a goroutine that nobody here waits for, but Finish. Up to some seconds'
	// worth wait; over it they are dropped, counted, and their time is unseen. What
	// Logger says of being enabled is asked once a second.
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

	// GapCPU has cpu.logical_number on otelgc.jitter.gap.duration: a series for
	// each CPU that is probed.
	GapCPU bool
	// GapEventThreshold is the shortest gap that is an event; 50 us if zero.
	// The longest gap of each second is one whatever its length.
	GapEventThreshold time.Duration
	// MinSeverity keeps lesser events of collections, suspensions and gaps
	// back, the longest gap of a second included; they count as dropped. The
	// status of a source always goes out.
	MinSeverity log.Severity
	// SeverityFor gives the severity of a stall; DefaultSeverity if nil.
	SeverityFor func(time.Duration) log.Severity
	// MaxEventsPerSecond bounds the events of stalls; 100 if zero.
	MaxEventsPerSecond int

	// OnPanic, if not nil, is told of each panic of the program's code where a value
	// was recorded or an event emitted. It is called where the panic was.
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
	if o.GapEventThreshold == 0 {
		o.GapEventThreshold = DefaultGapEventThreshold
	}
	if o.SeverityFor == nil {
		o.SeverityFor = DefaultSeverity
	}
	if o.MaxEventsPerSecond <= 0 {
		o.MaxEventsPerSecond = DefaultMaxEventsPerSecond
	}
	if o.OnPanic == nil {
		o.OnPanic = func(string, any) {}
	}
	return o
}

// Telemetry records what the sources saw. Its methods may be called from any
// goroutine; Tick, Status and Close belong to one owner.
type Telemetry struct {
	o    Options
	wall func() stall.WallOffset

	gc       collectionInstruments
	last     lastCollections
	goSelf   goInstruments
	dotnet   dotnetInstruments
	stalls   stallInstruments
	requests requestInstruments
	monitor  monitorInstruments
	losing   atomic.Bool // a loss of a sample is being counted

	events   *ration
	told     watermarks
	post     post
	mu       sync.Mutex // guards callbacks
	callback []metric.Registration
}

// New makes the instruments. An error leaves nothing registered.
func New(o Options) (*Telemetry, error) {
	o = o.withDefaults()
	t := &Telemetry{o: o, wall: o.Clock.Wall}
	t.post.logger = careful{o.Logger, t}
	if o.Detached {
		t.post.out = NewOutbox(queued*o.MaxEventsPerSecond + others)
	}
	t.events = newRation(o.MaxEventsPerSecond, o.Clock.Now())

	m := &maker{meter: o.Meter, lost: t.lostSample}
	t.gc = newCollectionInstruments(m, !o.DotnetMetrics)
	t.stalls = newStallInstruments(m)
	t.monitor = newMonitorInstruments(m)
	lastCallback := t.last.make(m)
	requestCallback := t.requests.make(m)
	goCallback := func() (metric.Registration, error) { return nil, nil }
	if o.GoMetrics {
		goCallback = t.goSelf.make(m)
	}
	dotnetCallback := func() (metric.Registration, error) { return nil, nil }
	if o.DotnetMetrics {
		dotnetCallback = t.dotnet.make(m)
	}
	if err := m.err(); err != nil {
		return nil, err
	}
	for _, register := range []func() (metric.Registration, error){lastCallback, requestCallback, goCallback, dotnetCallback} {
		r, err := register()
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		if r != nil {
			t.callback = append(t.callback, r)
		}
	}
	return t, nil
}

// Finish sends the events that are held, and waits until those that were sent are
// taken, or ctx ends, or none is for a second: what is not taken by then never will be,
// and is counted.
// Nothing becomes an event after it.
func (t *Telemetry) Finish(ctx context.Context) {
	t.send(t.events.close())
	if t.post.out != nil {
		t.countDropped(ctx, itemEvent, whyShutdown, uint64(t.post.out.Close(ctx)))
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
	for _, r := range t.callback {
		errs = append(errs, unregister(r))
	}
	t.callback = nil
	return errors.Join(errs...)
}

// unregister takes back a callback. A panic of the program's provider is an error.
func unregister(r metric.Registration) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("unregister callback: panic: %v", p)
		}
	}()
	return r.Unregister()
}

// DefaultSeverity returns DEBUG below 1 ms, INFO below 10 ms, WARN from there.
func DefaultSeverity(d time.Duration) log.Severity {
	switch {
	case d < time.Millisecond:
		return log.SeverityDebug
	case d < 10*time.Millisecond:
		return log.SeverityInfo
	default:
		return log.SeverityWarn
	}
}
