package report

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// none stands in a table for what is not known, or may not be said.
const none = "n/a"

func maybeLength(d gc.Maybe[time.Duration]) string {
	if v, ok := d.Get(); ok {
		return textfmt.Length(v)
	}
	return none
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
	return textfmt.Digits(v) + " " + units[0]
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
	return textfmt.Digits(100*f) + " %"
}

func maybePercent(f gc.Maybe[float64]) string {
	if v, ok := f.Get(); ok {
		return percent(v)
	}
	return none
}
