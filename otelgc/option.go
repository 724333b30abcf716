package otelgc

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// Option configures [Start].
type Option interface {
	apply(config) config
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	meters   metric.MeterProvider
	global   bool // meters is the global one, or its stand-in
	loggers  log.LoggerProvider
	budget   float64
	budgeted bool     // by an option
	boards   []string // where the board may be
	sources  []source.Source
	arrival  arrivalHeader
	pause    pauseHook
	joinable bool
	onWindow func(*stall.Window, *stall.Share)
	onSlow   slowHook
	route    func(*http.Request) string
	slow     slowRequests
}

// defaultBudget is the exact budget where neither [WithExactBudget] nor budgetEnv
// sets one.
const (
	defaultBudget = 0.01
	budgetEnv     = "OTELGC_EXACT_BUDGET"
)

func newConfig(opts []Option) (config, error) {
	c := config{boards: board.Paths()}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	if c.meters == nil {
		c.meters, c.global = otel.GetMeterProvider(), true
	}
	if c.loggers == nil {
		c.loggers = otel.GetLoggerProvider()
	}
	if !c.budgeted {
		b, err := budgetFromEnv(os.Getenv(budgetEnv))
		if err != nil {
			return c, err
		}
		c.budget = b
	}
	if !(c.budget >= 0 && c.budget <= 1) {
		return c, fmt.Errorf("exact budget %v: want a fraction from 0 to 1", c.budget)
	}
	if slices.Contains(c.sources, nil) {
		return c, errors.New("add source: it is nil")
	}
	return c, c.arrival.check()
}

func budgetFromEnv(s string) (float64, error) {
	if s == "" {
		return defaultBudget, nil
	}
	b, err := strconv.ParseFloat(s, 64)
	if err != nil || !(b >= 0 && b <= 1) {
		return 0, fmt.Errorf("parse %s %q: want a fraction from 0 to 1", budgetEnv, s)
	}
	return b, nil
}

// WithMeterProvider sets the provider of the instruments. Without it, or with
// nil, the global one is used.
func WithMeterProvider(p metric.MeterProvider) Option {
	return optionFunc(func(c config) config {
		if p != nil {
			c.meters = p
		}
		return c
	})
}

// WithLoggerProvider sets the provider that events go to. Without it, or with
// nil, the global one is used; where there is none, events go nowhere and
// everything else works. Its processors are called on a goroutine of their own, and
// hold up nothing else: some seconds' worth of events wait for them, and those over
// that are counted, and unseen in otelgc.source.status.
func WithLoggerProvider(p log.LoggerProvider) Option {
	return optionFunc(func(c config) config {
		if p != nil {
			c.loggers = p
		}
		return c
	})
}

// WithExactBudget sets what exact fidelity may cost, as a fraction of the CPU
// time of the process: 0 turns it off, 1 traces always but for short gaps. There
// is a floor of 0.5 % of one CPU for any budget above zero. The runtime's tracer is
// ours for ten times the fraction of the time at most, but for 1 % of it at least:
// a trace.Start by other code fails meanwhile. Elsewhere than on
// Linux, and in a time namespace, it is off. Without the option the
// environment variable OTELGC_EXACT_BUDGET counts, and without that 0.01.
func WithExactBudget(fraction float64) Option {
	return optionFunc(func(c config) config { c.budget, c.budgeted = fraction, true; return c })
}

// WithBoard sets the path of the board on which a sidecar publishes the gaps of
// the machine. Without it, $OTELGC_BOARD is read, or the first of /run/otelgc/board
// and /dev/shm/otelgc/board that is there. The empty path turns it off. A board is
// believed of root or the user of this process alone, and only if no other user can
// change its path: a path through a symbolic link, or through a directory that others
// may write, is refused.
func WithBoard(path string) Option {
	return optionFunc(func(c config) config {
		if c.boards = nil; path != "" {
			c.boards = []string{path}
		}
		return c
	})
}

// WithSource reports what another source sees, such as a [jitterprobe.Probe] inside
// the process: its intervals are events and metrics of gaps, and charged to no request.
// The monitor reads s, and [Monitor.Shutdown] closes it. The option may be given more
// than once.
//
// [jitterprobe.Probe]: https://pkg.go.dev/github.com/otelgc/otelgc/jitterprobe#Probe
func WithSource(s source.Source) Option {
	return optionFunc(func(c config) config { c.sources = append(c.sources, s); return c })
}

// WithOnPause calls f for each collection whose pauses sum to at least
// threshold, at most ten times a second, on a goroutine that nothing waits for:
// the collection is over by then.
func WithOnPause(threshold time.Duration, f func(gc.Collection)) Option {
	return optionFunc(func(c config) config {
		c.pause = pauseHook{threshold: threshold, call: f}
		return c
	})
}

// WithJoinableRequests has [Monitor.Middleware] put the window of a request into
// the request's context, so that goroutines which its handler starts can [Join]
// it. It costs a copy of the request, while exact fidelity traces. Outer handlers see only
// the copy's Pattern and MultipartForm. Without the option the request is handed on as it came.
func WithJoinableRequests() Option {
	return optionFunc(func(c config) config { c.joinable = true; return c })
}

// WithOnWindow calls f for each window when it is known who owns its time, up
// to a few seconds after its end, on one goroutine off the request's path. f
// must not keep its arguments, and must not block, call Flush or Shutdown, which wait
// for that goroutine, or end it, as testing's Fatal does.
func WithOnWindow(f func(*stall.Window, *stall.Share)) Option {
	return optionFunc(func(c config) config { c.onWindow = f; return c })
}

// newTelemetry makes the instruments. A provider that panics, as one that is a nil
// pointer does, is an error.
func newTelemetry(c config, clock stall.Clock, boot string, o *operator) (tel *telemetry.Telemetry, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("make instruments with %T and %T: panic: %v", c.meters, c.loggers, r)
		}
	}()
	return telemetry.New(telemetry.Options{
		Meter:     c.meters.Meter(ScopeName, metric.WithInstrumentationVersion(Version)),
		Logger:    c.loggers.Logger(ScopeName, log.WithInstrumentationVersion(Version)),
		BootID:    boot,
		PID:       os.Getpid(),
		GoMetrics: true,
		Clock:     clock,
		Detached:  true, OnPanic: o.reportPanic,
	})
}
