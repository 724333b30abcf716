// Package entry is what a Monitor does for the packages below otelgc that keep the
// times of windows themselves, such as otelgc/spans. No user of otelgc sees it.
package entry

import (
	"context"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// MaxSpans bounds the spans that wait in otelgc/spans. Package otelgc/otlp has room for
// as many in the queue behind.
const MaxSpans = 1 << 15

// Of returns the Monitor of an *otelgc.Monitor that is not nil. Package otelgc sets it:
// its methods are not to be seen, and it cannot be imported from here.
var Of func(monitor any) Monitor

// Monitor resolves windows that are no requests: they count in none of their metrics.
// Its methods may be called from any goroutine.
type Monitor interface {
	// Instant returns t on the monitor's clock: exactly where t has a monotonic
	// reading, by the offset of wall time in force where it has none.
	Instant(t time.Time) stall.Instant

	// Mark marks the calling goroutine as the one of a window that began at start, a
	// little ago, 0 for now. A window that lasts is settled piece by piece, and that
	// begins there: give Resolve the same start. Outside of a slice of exact tracing,
	// and when 4096 windows are followed already, it returns the zero Mark. A Mark that
	// is OK has to be given to Resolve or Release.
	Mark(start stall.Instant) Mark

	// Release gives up a mark whose window will not be resolved. It may be called more
	// than once.
	Release(Mark)

	// Resolve has tell called when it is known who owns the time of w, up to a few
	// seconds from now, on one goroutine: tell must not block, call Flush, ResolveNow
	// or Shutdown, nor keep its arguments. What of w lies after now, or before the
	// machine was booted, is cut off, and one that ends before it begins is empty. The
	// mark is released; a window without one has no goroutine, and of fidelity exact
	// only what covers all of the process. The window's Place is filled in.
	//
	// Resolve reports false if the window is not taken, since too many wait, the
	// monitor has been shut down, or the caller is in a bubble of testing/synctest,
	// with a time of its own: then tell is never called.
	Resolve(m Mark, w stall.Window, tell func(*stall.Window, *stall.Share)) bool

	// ResolveNow resolves the windows of Resolve that have ended with what is known by
	// now; what the sources have not passed is unseen. It returns when their tell
	// functions have returned, or with ctx's error.
	ResolveNow(ctx context.Context) error

	// CountDropped counts in otelgc.monitor.dropped n of item that were not kept, and
	// why.
	CountDropped(item, why string, n uint64)

	// CountPanic counts, as CountDropped does, an item that a panic of the program's
	// code has cost, and reports the first panic of what to OpenTelemetry's handler of
	// errors.
	CountPanic(item, what string, value any)
}

// PageOf returns the Page of an *otelgc.Monitor that is not nil, as Of does its Monitor.
var PageOf func(monitor any) Page

// Page is what a Monitor does for otelgc/page. Its methods may be called from any goroutine.
type Page interface {
	// Instant returns t on the monitor's clock, as that of Monitor does.
	Instant(t time.Time) stall.Instant

	// Observe has o see each request when its share is known, from now on.
	Observe(o Observer)

	// Losses returns what otelgc.monitor.dropped counts since Start, by item and reason.
	Losses() map[[2]string]uint64
}

// Observer sees the requests of a Monitor, on one goroutine.
type Observer interface {
	// PiecesFrom returns how long a request takes at least that is seen with its pieces. It
	// is more than zero.
	PiecesFrom() time.Duration

	// See looks at a request. It must not block, nor keep r or what is in it.
	See(r *Request)
}

// Request is a request whose share is known.
type Request struct {
	Window *stall.Window
	Share  *stall.Share
	Pieces []stall.Piece         // nil if it took less than PiecesFrom, or has too many
	Route  string                // empty if not known
	Span   oteltrace.SpanContext // not valid if not known
}

// Mark names the goroutine of a window. The zero Mark names none.
type Mark struct {
	At   stall.Instant // when it was made
	Slot int16
	OK   bool
}
