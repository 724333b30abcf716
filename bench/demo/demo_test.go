package demo

import (
	"encoding/json"
	"math"
	"testing"
)

// TestAbove: what is above p99 is weighed by its time.
func TestAbove(t *testing.T) {
	var d document
	err := json.Unmarshal([]byte(`{"headline": "TO BLAME FOR P99: GARBAGE COLLECTION", "latency": {"p99": 1000000}, "attribution": [
		{"bucket": "p0-p50", "time": 1000, "share": {"queue": 1}},
		{"bucket": "p99-max", "time": 300, "share": {"gc.assist": 0.5, "gc.pause": 0.1, "queue": 0.4}},
		{"bucket": "slowest", "time": 100, "share": {"generator": 1}}]}`), &d)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		is   func(string) bool
		want float64
	}{"collector": {isGC, 0.45}, "queue and load": {isLoad, 0.55}} {
		if got := d.above(c.is); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s above p99: got %v, want %v", name, got, c.want)
		}
	}
	if !d.names(collectorName) || d.names("THE MACHINE") || d.Latency.P99 != 1_000_000 {
		t.Errorf("read %+v", d)
	}
}
