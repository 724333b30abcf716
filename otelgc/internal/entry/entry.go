// Package entry is what a Monitor does for the packages below otelgc that keep the
// times of windows themselves, such as otelgc/spans. No user of otelgc sees it.
package entry

import (
	"context"
	"sync/atomic"
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

// Page is what a Monitor does for the packages that look at its requests, otelgc/page and
// otelgc/capture. Its methods may be called from any goroutine.
type Page interface {
	// Instant returns t on the monitor's clock, as that of Monitor does.
	Instant(t time.Time) stall.Instant

	// Observe has o see each request when its share is known, from now on.
	Observe(o Observer)

	// Losses returns what otelgc.monitor.dropped counts since Start, by item and reason.
	Losses() map[[2]string]uint64

	// Capture has c keep slow requests from now on. It reports false if there is one that
	// does.
	Capture(c Capturer) bool

	// Report reports an error to OpenTelemetry's handler of errors.
	Report(err error)
}

// Observer sees the requests of a Monitor, on one goroutine.
type Observer interface {
	// WantsPieces reports whether a request that took so long and ended at a time is to be
	// seen with its pieces.
	WantsPieces(took time.Duration, at stall.Instant) bool

	// See looks at a request. It must not block, nor keep r or what is in it.
	See(r *Request)
}

// Request is a request whose share is known.
type Request struct {
	Window *stall.Window
	Share  *stall.Share
	Pieces []stall.Piece         // at most 2048; may be nil if WantsPieces does not want them
	Coarse bool                  // each piece has the part with most of it: there were more
	Route  string                // empty if not known
	Span   oteltrace.SpanContext // not valid if not known
	// Captured is what became of its capture; nil if it is not slow enough for one.
	Captured *Captured
}

// Capturer keeps slow requests with what was traced of them. It sees all requests, too. Its
// methods but Close have one caller.
type Capturer interface {
	Observer

	// Least returns how long a request takes at least that is kept. It is more than zero.
	Least() time.Duration

	// Admit returns why a request is not kept, of whose trace there are so many bytes. The
	// empty string says that it is: Keep is called with it next.
	Admit(bytes int) (why string)

	// Keep keeps a request, which is the capturer's from now on. It must not block. It calls
	// done when the files are there, with the path of the page among them, or with why there
	// are none.
	Keep(s *Slow, done func(path, why string))

	// Close waits for the requests that are being kept, until ctx ends. What has not been
	// kept by then is done with WhyShutdown. No done is called after it.
	Close(ctx context.Context)
}

// WhyShutdown is why a request has not been kept that Close did not wait for.
const WhyShutdown = "shutdown"

// Slow is a slow request with what was traced of it.
type Slow struct {
	Request
	Sentence string           // where its time went
	Gaps     []stall.Interval // of the machine; nil if it is not watched
	Trace    [][]byte         // of the runtime, in parts, which are not to be changed
	Traced   stall.Span       // when that was
}

// Captured is what became of the capture of a request.
type Captured struct{ known atomic.Pointer[[2]string] }

// Set says what became of it: the path of its page, or why there is none.
func (c *Captured) Set(path, why string) { c.known.Store(&[2]string{path, why}) }

// Get returns what Set said. Both are empty if that is not known yet.
func (c *Captured) Get() (path, why string) {
	if c == nil {
		return "", ""
	}
	if known := c.known.Load(); known != nil {
		return known[0], known[1]
	}
	return "", ""
}

// Mark names the goroutine of a window. The zero Mark names none.
type Mark struct {
	At   stall.Instant // when it was made
	Slot int16
	OK   bool
}
