package semconv

import (
	"math"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Attr is an attribute of an event. Its value is an int64, a float64, a bool, a
// string, or a slice of int64 or string. Texts are valid UTF-8.
type Attr struct {
	Key   string
	Value any
}

// Field is an attribute that an event has of a T.
type Field[T any] struct {
	Key, Meaning string
	// Get returns the value, one of those of [Attr], or nil if it is not known.
	Get func(*T) any
}

// appendFields appends what is known of v.
func appendFields[T any](dst []Attr, v *T, fields []Field[T]) []Attr {
	for i := range fields {
		if value := fields[i].Get(v); value != nil {
			dst = append(dst, Attr{fields[i].Key, value})
		}
	}
	return dst
}

// text returns s as exporters can send it, nil if it is empty.
func text(s string) any {
	if s == "" {
		return nil
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Known returns the value of m as an attribute has it: a size or a count as an
// int64, a duration in seconds. It is nil if m is not known.
func Known[T any](m gc.Maybe[T]) any {
	v, ok := m.Get()
	if !ok {
		return nil
	}
	switch v := any(v).(type) {
	case gc.Bytes:
		return Int64(v)
	case uint64:
		return Int64(v)
	case int:
		return int64(v)
	case time.Duration:
		return v.Seconds()
	default:
		return v
	}
}

// Int64 returns n, or the greatest int64 if n is above that: OpenTelemetry has no
// unsigned integers.
func Int64[N ~uint64](n N) int64 { return int64(min(n, math.MaxInt64)) }

// column returns a number of each of all, -1 where it is not known. It is nil if
// none is.
func column[T any](all []T, get func(*T) (int64, bool)) any {
	values, some := make([]int64, len(all)), false
	for i := range all {
		n, ok := get(&all[i])
		if !ok {
			n = -1
		}
		values[i], some = n, some || ok
	}
	if !some {
		return nil
	}
	return values
}

// texts returns a text of each of all, nil if there are none.
func texts[T any](all []T, get func(*T) string) any {
	if len(all) == 0 {
		return nil
	}
	values := make([]string, len(all))
	for i := range all {
		values[i] = get(&all[i])
	}
	return values
}

// positive returns n, or nil if it is not above zero.
func positive[N ~int64 | ~int32 | ~int](n N) any {
	if n <= 0 {
		return nil
	}
	return int64(n)
}

// instant returns t, or nil if it is not known.
func instant(t stall.Instant) any {
	if t == 0 {
		return nil
	}
	return int64(t)
}
