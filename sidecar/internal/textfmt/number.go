package textfmt

import (
	"fmt"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// None stands for what is not known, or may not be said.
const None = "n/a"

// Text writes v as one reads it: a duration as [Length] does, a size with a unit, a
// number with commas, a fraction in percent, and what is not known as [None].
func Text(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return Length(v)
	case gc.Bytes:
		return Size(v)
	case int:
		return Count(v)
	case int64:
		return Count(v)
	case uint64:
		return Count(v)
	case float64:
		return Percent(v)
	case gc.Maybe[time.Duration]:
		return maybe(v)
	case gc.Maybe[gc.Bytes]:
		return maybe(v)
	case gc.Maybe[float64]:
		return maybe(v)
	}
	return Printable(fmt.Sprint(v))
}

// Printable replaces what a terminal would take for a command.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return '?'
		}
		return r
	}, s)
}

func maybe[T any](m gc.Maybe[T]) string {
	if v, known := m.Get(); known {
		return Text(v)
	}
	return None
}

// Sprintf is that of package fmt, but for %s, which is as [Text].
func Sprintf(format string, args ...any) string {
	if len(args) == 0 {
		return format
	}
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = text{a}
	}
	return fmt.Sprintf(format, list...)
}

type text struct{ v any }

// Format implements [fmt.Formatter].
func (t text) Format(f fmt.State, verb rune) {
	if verb == 's' {
		t.v = Text(t.v)
	}
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), t.v)
}

// Length writes d with three digits and a unit, such as "1.92 ms".
func Length(d time.Duration) string {
	if d < 0 {
		return "-" + stall.Humane(-d)
	}
	return stall.Humane(d)
}

// Digits writes v, which is not negative, with three digits; all before the
// point if there are more.
func Digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Size writes a number of bytes with three digits and a unit of 1024, such as
// "4.19 MiB".
func Size(b gc.Bytes) string {
	v, units := float64(b), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	if b < 1024 {
		return fmt.Sprintf("%d B", b)
	}
	for len(units) > 1 && v >= 1023.5 {
		v, units = v/1024, units[1:]
	}
	return Digits(v) + " " + units[0]
}

// Percent writes a fraction, such as "0.32 %".
func Percent(f float64) string {
	switch {
	case f <= 0:
		return "0 %"
	case f < 0.0001:
		return "<0.01 %"
	}
	return Digits(100*f) + " %"
}

// Count writes n with commas.
func Count[T int | int64 | uint64](n T) string {
	text := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	var b strings.Builder
	for i, c := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// Many writes n and the noun in its number, such as "2 gaps".
func Many[T int | int64 | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Ratio returns part/of, 0 of nothing.
func Ratio[T ~int | ~int64 | ~uint64](part, of T) float64 {
	if of <= 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// Rank returns how many of n sorted samples are within a quantile, by the nearest rank.
func Rank(permille, n int) int { return (permille*n + 999) / 1000 }
