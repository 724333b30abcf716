package otelenv

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// The time between two complaints of one kind begins at the first of these and doubles
// up to the second: a Collector that is dead for a night must not fill the log.
const (
	complainFirst = 10 * time.Second
	complainLast  = 10 * time.Minute
)

// Complaints is a handler of the errors of the OpenTelemetry SDK, which come several
// times a second while a Collector is dead. It logs one line for each kind of trouble,
// with what to do about it, and another now and then while that goes on.
type Complaints struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	kinds map[string]*complaint // by hint: so many there are, and one without
	over  bool
}

// complaint is one kind of trouble.
type complaint struct {
	last time.Time     // it came, logged or not
	said time.Time     // it was logged
	wait time.Duration // until it is logged again
	left int           // were not logged since
}

// NewComplaints returns a handler that logs to log.
func NewComplaints(log *slog.Logger) *Complaints {
	return &Complaints{log: log, now: time.Now, kinds: make(map[string]*complaint)}
}

// Handle logs err, or counts it if another of its kind was logged of late. What comes
// after a while without any is a new trouble.
func (c *Complaints) Handle(err error) {
	hint := hintOf(err)
	left, first, due := c.due(hint)
	if !due {
		return
	}
	facts := []any{"error", oneLine(err).Error(), "not_logged", left}
	if hint != "" && first {
		facts = append(facts, "mend", hint)
	}
	c.log.Warn("export", facts...)
}

// due reports whether an error of a kind is to be logged, whether as the first of a
// trouble, and how many were not since the last that was.
func (c *Complaints) due(hint string) (left int, first, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds[hint]
	if k == nil {
		k = new(complaint)
		c.kinds[hint] = k
	}
	now := c.now()
	if now.Sub(k.last) > complainLast {
		k.wait = 0
	}
	k.last = now
	if c.over || now.Sub(k.said) < k.wait {
		k.left++
		return 0, false, false
	}
	left, first = k.left, k.wait == 0
	k.wait = min(max(complainFirst, 2*k.wait), complainLast)
	k.said, k.left = now, 0
	return left, first, true
}

// End has nothing logged from now on: the providers are being shut down, and their
// error says what they could not do. Resume undoes it.
func (c *Complaints) End() { c.set(true) }

// Resume has errors logged again.
func (c *Complaints) Resume() { c.set(false) }

func (c *Complaints) set(over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = over
}

// HandleErrors makes c the handler of errors, unless the program has set one of its
// own. It returns the Complaints that handles them now, nil for the program's.
func (c *Complaints) HandleErrors() *Complaints {
	h := otel.GetErrorHandler()
	if before, ok := h.(*Complaints); ok { // of a Start before this one
		return before
	}
	if fmt.Sprintf("%T", h) != untouched {
		return nil
	}
	otel.SetErrorHandler(c)
	return c
}

// untouched is the type of the handler of a program that has set none. It cannot be
// named in code.
const untouched = "*errorhandler.ErrDelegator"
