package verb

import (
	"log/slog"
	"sync"
	"time"
)

// The time between two complaints of the exporters begins at the first of these
// and doubles up to the second: a Collector that is dead for a night must not fill
// the log.
const (
	complainFirst = 10 * time.Second
	complainLast  = 10 * time.Minute
)

// complaints logs the errors of the OpenTelemetry SDK, which come several times
// a second while a Collector is dead.
type complaints struct {
	log  *slog.Logger
	now  func() time.Time
	mu   sync.Mutex
	last time.Time     // of a complaint, logged or not
	said time.Time     // of the last that was logged
	wait time.Duration // until the next
	mend string        // that was said last
	left int
	over bool
}

func newComplaints(log *slog.Logger) *complaints { return &complaints{log: log, now: time.Now} }

// Handle logs err, or counts it if another was logged of late. What comes after a
// while without any is a new trouble.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.last) > complainLast {
		c.wait = 0
	}
	c.last = now
	if c.over || now.Sub(c.said) < c.wait {
		c.left++
		return
	}
	facts := []any{"error", oneLine(err.Error()), "not_logged", c.left}
	if mend := mendOf(err); mend != "" && (c.wait == 0 || mend != c.mend) {
		facts = append(facts, "mend", mend)
		c.mend = mend
	}
	c.log.Warn("export", facts...)
	c.wait = min(max(complainFirst, 2*c.wait), complainLast)
	c.said, c.left = now, 0
}

// end has nothing logged any more: the providers are being shut down, and say
// themselves what they could not do.
func (c *complaints) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}
