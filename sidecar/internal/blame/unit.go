package blame

import (
	"fmt"
	"strings"
	"time"
)

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

func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// percent writes a fraction in a sentence, such as "0.3 %".
func percent(f float64) string {
	switch {
	case f <= 0:
		return "0 %"
	case f < 0.001:
		return "less than 0.1 %"
	case f < 0.0995:
		return fmt.Sprintf("%.1f %%", 100*f)
	case f < 1 && f > 0.995:
		return "more than 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*f)
}

// bound writes a fraction in a sentence, as an upper bound if it is one.
func bound(f float64, atMost bool) string {
	switch {
	case !atMost || f <= 0:
		return percent(f)
	case f < 0.001:
		return "at most 0.1 %"
	}
	return "at most " + percent(f)
}

// cell writes a fraction in a table of percents.
func cell(f float64) string {
	switch {
	case f <= 0:
		return "·"
	case f < 0.0005:
		return "<0.1"
	}
	return fmt.Sprintf("%.1f", 100*f)
}

// count writes n with commas.
func count[T int | uint64](n T) string {
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
func many[T int | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}
