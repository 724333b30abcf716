package blame

import (
	"fmt"
)

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
	case f > 0.995:
		return "up to 100 %" // that is no bound
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
