package wire

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// LongestSpan is what a span may last: what claims more has no time that can be
// related to the clock.
const LongestSpan = 7 * 24 * time.Hour

// Farthest bounds wall times, offsets and instants, so that none of their
// sums overflows: 146 years.
const Farthest = 1<<62 - 1

// Duration returns the length of a span; zero, and false, if it makes no sense.
func Duration(s ptrace.Span) (time.Duration, bool) {
	d := time.Duration(UnixNano(s.EndTimestamp()) - UnixNano(s.StartTimestamp()))
	if d < 0 || d > LongestSpan || s.EndTimestamp() > Farthest {
		return 0, false
	}
	return d, true
}

// The flags of a span that say whether its parent is of another process.
const (
	flagKnown  = 0x100
	flagRemote = 0x200
)

// IsRoot reports whether a span is the first of its process: it has no parent, or one of
// another process. Where the sender does not say that, servers and consumers are.
func IsRoot(s ptrace.Span) bool {
	switch {
	case s.ParentSpanID().IsEmpty():
		return true
	case s.Flags()&flagKnown != 0:
		return s.Flags()&flagRemote != 0
	}
	return s.Kind() == ptrace.SpanKindServer || s.Kind() == ptrace.SpanKindConsumer
}

// UnixNano returns Unix ns; a time behind the year 2116 is at its end.
func UnixNano(t pcommon.Timestamp) int64 { return int64(min(uint64(t), Farthest)) }
