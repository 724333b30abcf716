package otelgc

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestResolve: who keeps the times himself is told the share of his window, and
// it counts as no request.
func TestResolve(t *testing.T) {
	metrics, provider := newSums()
	m := startTest(t, provider, WithExactBudget(1))
	waitMarking(t, m)
	mark, begin := entry.Of(m).Mark(0), time.Now()
	runtime.GC()
	end := entry.Of(m).Instant(time.Now())
	told := make(chan stall.Share, 1)
	ok := entry.Of(m).Resolve(mark, stall.Window{Start: entry.Of(m).Instant(begin), End: end}, func(w *stall.Window, s *stall.Share) {
		if w.End != end || w.Place == nil && runtime.GOOS == "linux" {
			t.Errorf("got window %+v, want end %d and a place", w, end)
		}
		told <- *s
	})
	if !ok {
		t.Fatal("the window was not taken")
	}
	settle(t, m)
	select {
	case s := <-told:
		if s.GC() == 0 || s.Collections == 0 {
			t.Errorf("no collection in %s", s.Explain())
		}
	default:
		t.Error("not told after Flush")
	}
	if got := metrics.total(t, semconv.MetricRequests); got != 0 {
		t.Errorf("%v requests, want none", got)
	}
}

// TestResolveNow does not wait for the sources.
func TestResolveNow(t *testing.T) {
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	now := entry.Of(m).Instant(time.Now())
	told := false
	entry.Of(m).Resolve(entry.Mark{}, stall.Window{Start: now - 1000, End: now + stall.Instant(time.Hour)}, func(_ *stall.Window, s *stall.Share) {
		told = s.Total < time.Hour
	})
	if err := entry.Of(m).ResolveNow(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !told {
		t.Error("not told of a window that ends now at the latest")
	}
}

func TestResolveAfterShutdown(t *testing.T) {
	m := startTest(t)
	shutdown(t, m)
	if entry.Of(m).Resolve(entry.Mark{}, stall.Window{}, func(*stall.Window, *stall.Share) {}) {
		t.Error("a window was taken that nobody will resolve")
	}
}
