package otelenv

import (
	"fmt"
	"strings"
)

// Unexported is what was told and never reached a Collector. It is exact after
// [Providers.Shutdown].
type Unexported struct {
	// Events and Spans are gone.
	Events uint64 `json:"events,omitempty"`
	Spans  uint64 `json:"spans,omitempty"`
	// MetricExports failed: where a later one arrived, it had the sums whole.
	MetricExports uint64 `json:"metric_exports,omitempty"`
	// Error is that of the end, when what was held was to go out.
	Error string `json:"error,omitempty"`
}

// Unexported returns what never reached a Collector, where the shutdown returned err;
// nil if all that matters did: the last metrics, and every event and span.
func (p *Providers) Unexported(err error) *Unexported {
	d := p.Dropped()
	u := Unexported{Events: d.LogsQueued + d.LogsFailed, Spans: d.SpansQueued + d.SpansFailed, MetricExports: d.MetricsFailed}
	if err != nil {
		u.Error = err.Error()
	}
	if u.Events == 0 && u.Spans == 0 && u.Error == "" {
		return nil
	}
	return &u
}

// Facts are for a log.
func (u *Unexported) Facts() []any {
	facts := []any{"events_lost", u.Events, "metric_exports_failed", u.MetricExports}
	if u.Spans > 0 {
		facts = append(facts, "spans_lost", u.Spans)
	}
	if u.Error != "" {
		facts = append(facts, "error", u.Error)
	}
	return facts
}

// String returns the facts as name=value, with a space in between.
func (u *Unexported) String() string {
	var b strings.Builder
	for i, f := range u.Facts() {
		switch {
		case i%2 == 1:
			b.WriteByte('=')
		case i > 0:
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, f)
	}
	return b.String()
}
