package textfmt

import (
	"fmt"
	"strings"
	"time"
)

// Length writes d with three digits and a unit, such as "1.92 ms".
func Length(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Length(-d)
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return Digits(float64(d)/1e3) + " us"
	case d < time.Second:
		return Digits(float64(d)/1e6) + " ms"
	}
	return Digits(float64(d)/1e9) + " s"
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
