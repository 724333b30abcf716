package demo

import (
	"slices"
	"strings"
	"sync"
)

// mostComplaints bounds what is kept of them.
const mostComplaints = 8

// complaints keeps what goes wrong in the service, for the report: a line that
// comes out between two of its own says less. Each is kept once.
type complaints struct {
	mu   sync.Mutex
	said []string
}

// Handle implements the handler of OpenTelemetry's errors.
func (c *complaints) Handle(err error) {
	text := strings.TrimPrefix(err.Error(), "otelgc: ")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.said) < mostComplaints && !slices.Contains(c.said, text) {
		c.said = append(c.said, text)
	}
}

func (c *complaints) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.said)
}
