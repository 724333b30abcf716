package otelgc

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const mine = "the program's own\nvalue"

// panickyMeters panics when it is to export.
type panickyMeters struct{ *sdkmetric.MeterProvider }

func (panickyMeters) ForceFlush(context.Context) error { panic(mine) }

// panickyRecords is a processor of the program's.
type panickyRecords struct{}

func (panickyRecords) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (panickyRecords) OnEmit(context.Context, *sdklog.Record) error           { panic(mine) }
func (panickyRecords) Shutdown(context.Context) error                         { return nil }
func (panickyRecords) ForceFlush(context.Context) error                       { return nil }

// panickyContext cannot be asked.
type panickyContext struct{ context.Context }

func (panickyContext) Value(any) any { panic(mine) }

// panickyLogger is a handler of slog's.
type panickyLogger struct{ slog.Handler }

func (panickyLogger) Enabled(context.Context, slog.Level) bool  { return true }
func (panickyLogger) Handle(context.Context, slog.Record) error { panic(mine) }

// handleErrors makes f the program's handler of errors, until the test ends.
func handleErrors(t *testing.T, f func(error)) {
	t.Helper()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(f))
	t.Cleanup(func() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Print(err) })) })
}

// TestPanicsOfTheProgram: wherever the program's code is called, its panic costs what
// it was called for, counted, and is told of once, in one line that names the code.
func TestPanicsOfTheProgram(t *testing.T) {
	for name, c := range map[string]struct {
		item  string
		least float64
		opts  []Option
		do    func(m *Monitor)
	}{
		"WithOnWindow":      {item: "on_window", least: 3, opts: []Option{WithOnWindow(func(*stall.Window, *stall.Share) { panic(mine) })}},
		"WithOnSlowRequest": {item: "on_slow_request", least: 3, opts: []Option{WithOnSlowRequest(0, func(*SlowRequest) { panic(mine) })}},
		"WithOnPause": {item: "on_pause", least: 2, opts: []Option{WithOnPause(0, func(gc.Collection) { panic(mine) })}, do: func(*Monitor) {
			for end := time.Now().Add(5 * hookEvery); time.Now().Before(end); time.Sleep(hookEvery) {
				runtime.GC()
			}
		}},
		"WithRoute":       {item: "route", least: 3, opts: []Option{WithRoute(func(*http.Request) string { panic(mine) })}},
		"WithSlowRequest": {item: "slow_request", least: 3, opts: []Option{WithSlowRequest(0, slog.New(panickyLogger{}))}},
		"span of a request's context": {item: "window", least: 3, do: func(m *Monitor) {
			h := m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			for range 3 {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(panickyContext{t.Context()}, http.MethodGet, "/", nil))
			}
		}},
		"Monitor.Resolve":     {item: "window", least: 3, do: resolvePanicking},
		"provider of loggers": {item: "event", least: 1, opts: []Option{WithLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(panickyRecords{})))}},
		"companion": {item: "span", least: 2, do: func(m *Monitor) {
			entry.Of(m).CountPanic("span", "companion", mine)
			entry.Of(m).CountPanic("span", "companion", mine)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan string, 100)
			handleErrors(t, func(err error) { told <- err.Error() })
			metrics, provider := newSums()
			m := startTest(t, append(c.opts, WithExactBudget(0), provider)...)
			h := m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			for range 3 {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
			}
			if c.do != nil {
				c.do(m)
			}
			flush(t, m)
			shutdown(t, m)
			if got := metrics.by(t, semconv.MetricDropped, semconv.AttrItem, semconv.AttrErrorType)[c.item+" panic"]; got < c.least {
				t.Errorf("%v panics are counted for %s, want at least %v", got, c.item, c.least)
			}
			n := 0
			for len(told) > 0 {
				if line := <-told; strings.Contains(line, name) && strings.Contains(line, "panicked: the program's own value: ") && !strings.Contains(line, "\n") {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d lines name %s and its panic, want 1", n, name)
			}
		})
	}
}

func resolvePanicking(m *Monitor) {
	for range 3 {
		now := m.here.clock.Now()
		entry.Of(m).Resolve(entry.Mark{}, stall.Window{Start: now.Add(-1), End: now}, func(*stall.Window, *stall.Share) { panic(mine) })
	}
}

// TestLastExportPanics: it is told of, and not the program's end.
func TestLastExportPanics(t *testing.T) {
	told := make(chan string, 100)
	handleErrors(t, func(err error) { told <- err.Error() })
	meters := panickyMeters{sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))}
	shutdown(t, startTest(t, WithExactBudget(0), WithMeterProvider(meters)))
	select {
	case line := <-told:
		if !strings.Contains(line, "the provider of meters panicked") {
			t.Errorf("told %q", line)
		}
	default:
		t.Error("nobody was told")
	}
}

// TestHandlerOfErrorsPanics on a goroutine of ours, above which nobody could stop
// that: it is counted, and not the program's end.
func TestHandlerOfErrorsPanics(t *testing.T) {
	handleErrors(t, func(error) { panic(mine) })
	metrics, provider := newSums()
	m := startTest(t, WithExactBudget(0), provider)
	m.operator.report(errors.New("something to be said"))
	shutdown(t, m)
	if got := metrics.by(t, semconv.MetricDropped, semconv.AttrItem, semconv.AttrErrorType)["error panic"]; got != 1 {
		t.Errorf("%v errors are counted, want 1", got)
	}
}
