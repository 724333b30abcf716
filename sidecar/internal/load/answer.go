package load

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Answer is what became of one request.
type Answer struct {
	Arrival stall.Instant // the intended start
	Ready   stall.Instant // when it could be sent: at its arrival, or when the connection that took it became free
	Sent    stall.Instant // when it was; zero if no connection took it in time
	Came    stall.Instant // when the last of the answer came to this host's socket; zero if that is not known
	Receipt stall.Instant // when the whole answer was read; zero if it never was
}

// OK reports whether the request was answered.
func (a *Answer) OK() bool { return a.Receipt != 0 }

// Latency returns the time from the intended start to the receipt.
func (a *Answer) Latency() time.Duration { return a.Receipt.Sub(a.Arrival) }

// Late returns the time in which a request that could be sent was not: that is the
// generator's own, which had no CPU or was slow.
func (a *Answer) Late() stall.Span { return stall.Span{Start: a.Ready, End: a.Sent} }

// Back returns when the answer was out of the service's hands, at the latest. What
// is from then to the receipt is the generator's own, too.
func (a *Answer) Back() stall.Instant {
	if a.Came != 0 {
		return a.Came
	}
	return a.Receipt
}
