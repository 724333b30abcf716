package semconv

import (
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Field is an attribute that an event has of a T.
type Field[T any] struct {
	Key string
	// Get returns an int64, a float64, a bool, a string, or a slice of int64 or string.
	// It returns the zero Value if it is not known. Texts are valid UTF-8.
	Get func(*T) slog.Value
}

// appendFields appends what is known of v.
func appendFields[T any](dst []slog.Attr, v *T, fields []Field[T]) []slog.Attr {
	for i := range fields {
		if value := fields[i].Get(v); isKnown(value) {
			dst = append(dst, slog.Attr{Key: fields[i].Key, Value: value})
		}
	}
	return dst
}

// isKnown reports whether v is a value: the zero Value is none.
func isKnown(v slog.Value) bool { return v.Kind() != slog.KindAny || v.Any() != nil }

// text returns s as exporters can send it, no value if it is empty.
func text(s string) (v slog.Value) {
	if s != "" {
		v = slog.StringValue(strings.ToValidUTF8(s, "\uFFFD"))
	}
	return v
}

// Known returns the value of m as an attribute has it: a size or a count as an
// int64, a duration in seconds. It is no value if m is not known.
func Known[T gc.Bytes | uint64 | int | float64 | bool | time.Duration](m gc.Maybe[T]) slog.Value {
	v, ok := m.Get()
	if !ok {
		return slog.Value{}
	}
	switch v := any(v).(type) {
	case float64:
		return slog.Float64Value(v)
	case gc.Bytes:
		return slog.Int64Value(Int64(v))
	case uint64:
		return slog.Int64Value(Int64(v))
	case int:
		return slog.IntValue(v)
	case time.Duration:
		return slog.Float64Value(v.Seconds())
	case bool:
		return slog.BoolValue(v)
	}
	return slog.Value{}
}

// Int64 returns n, or the greatest int64 if n is above that: OpenTelemetry has no
// unsigned integers.
func Int64[N ~uint64](n N) int64 { return int64(min(n, math.MaxInt64)) }

// column returns a number of each of all, -1 where it is not known. It is no value if
// none is.
func column[T any](all []T, get func(*T) (int64, bool)) slog.Value {
	values, some := make([]int64, len(all)), false
	for i := range all {
		n, ok := get(&all[i])
		if !ok {
			n = -1
		}
		values[i], some = n, some || ok
	}
	if !some {
		return slog.Value{}
	}
	return slog.AnyValue(values)
}

// texts returns a text of each of all, no value if there are none.
func texts[T any](all []T, get func(*T) string) slog.Value {
	if len(all) == 0 {
		return slog.Value{}
	}
	values := make([]string, len(all))
	for i := range all {
		values[i] = get(&all[i])
	}
	return slog.AnyValue(values)
}

// positive returns n, or no value if it is not above zero.
func positive[N ~int64 | ~int32 | ~int](n N) (v slog.Value) {
	if n > 0 {
		v = slog.Int64Value(int64(n))
	}
	return v
}

// instant returns t, or no value if it is not known.
func instant(t stall.Instant) (v slog.Value) {
	if t != 0 {
		v = slog.Int64Value(int64(t))
	}
	return v
}
