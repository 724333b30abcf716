package otelgc

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// ArrivalFormat says how a header tells when a request arrived.
type ArrivalFormat uint8

const (
	// ArrivalMonotonic is CLOCK_MONOTONIC in nanoseconds, as [stall.Instant].
	ArrivalMonotonic ArrivalFormat = iota
	// ArrivalUnixSeconds is wall time in seconds with a fraction, with or
	// without "t=" before it, as nginx's $msec and many load balancers'
	// X-Request-Start.
	ArrivalUnixSeconds
	// ArrivalUnixMillis is wall time in whole milliseconds, "t=" as above.
	ArrivalUnixMillis
	// ArrivalUnixMicros is wall time in whole microseconds, "t=" as above.
	ArrivalUnixMicros
)

// maxArrivalAge is how long before the handler an arrival may lie: what is
// older is another clock, not a queue.
const maxArrivalAge = 10 * time.Second

// maxArrivalText bounds the header that is parsed: more digits say nothing more.
const maxArrivalText = 40

// maxWallSeconds is the last whole second that Unix nanoseconds can hold.
const maxWallSeconds = math.MaxInt64 / int64(time.Second)

// WithArrivalHeader reads from the named header when the request arrived, so
// that a stall between arrival and handler is seen. Off without it. A header
// that cannot be parsed, that has several values, that lies after the handler's
// start or more than ten seconds before it is ignored, and counted in
// otelgc.monitor.dropped (arrival). Have a proxy that you run set it, on a clock that
// you trust, and replace what the client sent: with a value of a client's own a
// request seems to have waited for up to ten seconds.
func WithArrivalHeader(name string, format ArrivalFormat) Option {
	return optionFunc(func(c config) config {
		c.arrival = arrivalHeader{name: http.CanonicalHeaderKey(name), format: format}
		return c
	})
}

type arrivalHeader struct {
	name   string
	format ArrivalFormat
}

func (a arrivalHeader) check() error {
	if a.format > ArrivalUnixMicros {
		return fmt.Errorf("arrival header %q: no such format %d", a.name, a.format)
	}
	return nil
}

// arrivalFault says why what a header says is ignored.
type arrivalFault uint8

const (
	noFault      arrivalFault = iota
	notParsed                 // by the format that was named
	notPlausible              // after the handler's start, or too long before it
	notOne                    // several values: a client sent one of them
	arrivalFaults
)

// of returns the arrival of a request whose handler started at start, or zero and
// why, if there is a header. wall is the offset of wall time in force.
func (a arrivalHeader) of(h http.Header, start stall.Instant, wall time.Duration) (stall.Instant, arrivalFault) {
	if a.name == "" {
		return 0, noFault
	}
	v := h[a.name]
	if len(v) == 0 {
		return 0, noFault
	}
	if len(v) > 1 || strings.Contains(v[0], ",") {
		return 0, notOne
	}
	if len(v[0]) > maxArrivalText {
		return 0, notParsed
	}
	at, ok := a.parse(v[0], wall)
	switch {
	case !ok:
		return 0, notParsed
	case at <= 0 || at > start || at < start.Add(-maxArrivalAge):
		return 0, notPlausible
	}
	return at, noFault
}

func (a arrivalHeader) parse(s string, wall time.Duration) (stall.Instant, bool) {
	if a.format != ArrivalMonotonic {
		s = strings.TrimPrefix(s, "t=")
	}
	// No proxy writes a sign, an exponent or a hexadecimal number, which strconv takes.
	if strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	if a.format == ArrivalMonotonic {
		n, err := strconv.ParseInt(s, 10, 64)
		return stall.Instant(n), err == nil && n > 0
	}
	unit := int64(time.Millisecond)
	switch a.format {
	case ArrivalUnixSeconds:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f > 0 && f < float64(maxWallSeconds)) {
			return 0, false
		}
		whole := int64(f)
		ns := whole*1e9 + int64((f-float64(whole))*1e9)
		return stall.Instant(ns - int64(wall)), true
	case ArrivalUnixMicros:
		unit = int64(time.Microsecond)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > int64(1<<62)/unit {
		return 0, false
	}
	return stall.Instant(n*unit - int64(wall)), true
}
