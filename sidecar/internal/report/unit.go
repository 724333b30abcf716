package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// none stands in a table for what is not known, or may not be said.
const none = "n/a"

// length writes d with three digits and a unit, such as "1.92 ms".
func length(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + length(-d)
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return digits(float64(d)/1e3) + " us"
	case d < time.Second:
		return digits(float64(d)/1e6) + " ms"
	}
	return digits(float64(d)/1e9) + " s"
}

func maybeLength(d gc.Maybe[time.Duration]) string {
	if v, ok := d.Get(); ok {
		return length(v)
	}
	return none
}

func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// size writes a number of bytes with three digits and a unit of 1024, such as
// "4.19 MiB".
func size(b gc.Bytes) string {
	v, units := float64(b), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	if b < 1024 {
		return fmt.Sprintf("%d B", b)
	}
	for len(units) > 1 && v >= 1023.5 {
		v, units = v/1024, units[1:]
	}
	return digits(v) + " " + units[0]
}

func maybeSize(b gc.Maybe[gc.Bytes]) string {
	if v, ok := b.Get(); ok {
		return size(v)
	}
	return none
}

// percent writes a fraction, such as "0.32 %".
func percent(f float64) string {
	switch {
	case f <= 0:
		return "0 %"
	case f < 0.0001:
		return "<0.01 %"
	}
	return digits(100*f) + " %"
}

func maybePercent(f gc.Maybe[float64]) string {
	if v, ok := f.Get(); ok {
		return percent(v)
	}
	return none
}

// count writes n with commas.
func count[T int | int64 | uint64](n T) string {
	text := fmt.Sprint(n)
	var b strings.Builder
	for i, c := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// many writes n and the noun in its number.
func many[T int | int64 | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}
