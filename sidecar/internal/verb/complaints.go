package verb

import (
	"log/slog"
	"sync"
	"time"
)

// complainEvery is the time between two complaints of the exporters: a
// Collector that is dead for a night must not fill the log.
const complainEvery = 10 * time.Second

// complaints logs the errors of the OpenTelemetry SDK, which come several times
// a second while a Collector is dead.
type complaints struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
	left int
}

func newComplaints(log *slog.Logger) *complaints { return &complaints{log: log} }

// Handle logs err, or counts it if another was logged of late.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && time.Since(c.last) < complainEvery {
		c.left++
		return
	}
	c.log.Warn("export", "error", oneLine(err.Error()), "not_logged", c.left)
	c.last, c.left = time.Now(), 0
}
