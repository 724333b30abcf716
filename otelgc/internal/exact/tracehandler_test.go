package exact

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// slicePlayed begins a slice that the test writes.
func slicePlayed(t *testing.T, x *Tracer) *stream {
	t.Helper()
	if !x.claim() {
		t.Fatal("the tracer is held")
	}
	s := newStream(x.clock)
	x.serve(s)
	return s
}

func tapped(s *stream) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.taps) > 0
	}
}

// TestTraceHandlerOutlivesASlice: slices that end, or are lost, before a
// generation is whole are followed by the next.
func TestTraceHandlerOutlivesASlice(t *testing.T) {
	x := newTracer(t, 1)
	rec, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		x.serveTrace(rec, httptest.NewRequest(http.MethodGet, "/", nil), time.Millisecond)
	}()
	for range 3 {
		s := slicePlayed(t, x)
		until(t, "a tap", tapped(s))
		write(t, s, testHeader, "a generation that nobody ends")
		s.close()
		x.release()
	}
	s := slicePlayed(t, x)
	until(t, "a tap on the next slice", tapped(s))
	if x.demand() <= 0 {
		t.Error("nobody wants the slice to go on")
	}
	write(t, s, testHeader, "batch", endMark)
	s.close()
	<-done
	x.release()
	if got, want := rec.Body.String(), testHeader+"batch"+endMark; rec.Code != http.StatusOK || got != want {
		t.Errorf("got status %d, %q, want %q", rec.Code, got, want)
	}
}

// TestRetiredSliceIsNotTapped: who comes when a slice is about to end gets the
// next one; who comes before keeps it going.
func TestRetiredSliceIsNotTapped(t *testing.T) {
	x := newTracer(t, 1)
	s := slicePlayed(t, x)
	past := x.clock.Now() - 1
	if tap, _ := x.tap(time.Hour, 0); tap == nil {
		t.Fatal("no tap on a slice")
	}
	if x.retire(past, false) {
		t.Error("a slice ended that somebody taps")
	}
	x.until = 0
	if !x.retire(past, false) {
		t.Error("a slice goes on that nobody wants")
	}
	if tap, _ := x.tap(time.Hour, 0); tap != nil {
		t.Error("a tap on a slice that is about to end")
	}
	s.close()
	x.release()
	s = slicePlayed(t, x)
	if tap, _ := x.tap(time.Hour, 0); tap == nil || !x.retire(past, true) {
		t.Error("a slice that cannot be decoded goes on for a tap")
	}
	s.close()
	x.release()
}

// TestGoneReaderIsNotServed: a client that asked for minutes and went keeps no
// slice going.
func TestGoneReaderIsNotServed(t *testing.T) {
	x := newTracer(t, 1)
	ctx, gone := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.serveTrace(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), longestTrace)
	}()
	until(t, "somebody to ask for a slice", func() bool { return x.demand() > 0 })
	length, ok := x.next()
	if !ok || length > shortestSlice {
		t.Fatalf("a slice of %v, want one of %v at most that goes on while it is wanted", length, shortestSlice)
	}
	s := newStream(x.clock)
	x.serve(s)
	until(t, "a tap", tapped(s))
	past := x.clock.Now() - 1
	if x.retire(past, false) {
		t.Error("a slice ended that somebody reads")
	}
	gone()
	<-done
	if !x.retire(past, false) {
		t.Error("a slice goes on for a reader who is gone")
	}
	s.close()
	x.release()
}

// TestTraceHandlerSaysWhy there is no trace.
func TestTraceHandlerSaysWhy(t *testing.T) {
	ended := newTracer(t, 1)
	close(ended.done)
	rec := httptest.NewRecorder()
	ended.serveTrace(rec, httptest.NewRequest(http.MethodGet, "/", nil), time.Second)
	if rec.Code != http.StatusServiceUnavailable || rec.Body.String() != noTracing+"\n" {
		t.Errorf("after the end of tracing: got status %d, %q", rec.Code, rec.Body)
	}
	late := make(chan time.Time)
	close(late)
	x := newTracer(t, 1)
	if tap, _, why := x.tapFor(time.Second, 0, nil, late); tap != nil || why != noSlice {
		t.Errorf("without a slice: got %q, want %q", why, noSlice)
	}
	s := slicePlayed(t, x)
	quiet, _ := x.tap(time.Second, 0)
	rec = httptest.NewRecorder()
	w := traceWriter{rw: rec}
	if !w.copyFrom(quiet, time.Millisecond, late) || w.begun {
		t.Error("a slice without a generation is waited for still, or something was written")
	}
	s.close()
	x.release()
}
