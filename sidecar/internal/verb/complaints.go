package verb

import (
	"log/slog"
	"strings"
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
	if c.wait == 0 {
		facts = append(facts, "mend", mendOf(err))
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

// mendOf says what to do about an error of an exporter. Of TLS only the text tells.
func mendOf(err error) string {
	for _, c := range []struct{ text, mend string }{
		{"does not look like a TLS handshake", "the Collector speaks no TLS: have OTEL_EXPORTER_OTLP_ENDPOINT begin with http://"},
		{"HTTP response to HTTPS client", "the Collector speaks no TLS: have OTEL_EXPORTER_OTLP_ENDPOINT begin with http://"},
		{"x509: ", "name the file with the CA of the Collector in OTEL_EXPORTER_OTLP_CERTIFICATE"},
	} {
		if strings.Contains(err.Error(), c.text) {
			return c.mend
		}
	}
	return "start a Collector at OTEL_EXPORTER_OTLP_ENDPOINT, or run without one: OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none"
}
