package chart

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestHeldBeforeRefused: what the connector may hold, and as much garbage again, is
// below that at which the Collector refuses. Over max_bytes spans go on
// unattributed; refused are events, too, and without these spans are held longer.
func TestHeldBeforeRefused(t *testing.T) {
	for _, file := range []string{"../../config.yaml", chartDir + "config/gateway.yaml"} {
		var c struct {
			Processors struct {
				Limiter struct {
					Limit any   `json:"limit_mib"`
					Spike int64 `json:"spike_limit_mib"`
				} `json:"memory_limiter"`
			} `json:"processors"`
			Connectors struct {
				Stall struct {
					MaxBytes int64 `json:"max_bytes"`
				} `json:"stall"`
			} `json:"connectors"`
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &c); err != nil {
			t.Fatal(err)
		}
		held, refuses := c.Connectors.Stall.MaxBytes, (mebibytes(t, c.Processors.Limiter.Limit)-c.Processors.Limiter.Spike)<<20
		if held == 0 || 2*held > refuses {
			t.Errorf("%s: max_bytes %d, and refuses from %d on: want twice as much", file, held, refuses)
		}
	}
}

// mebibytes reads a number, or the default of a variable: ${env:NAME:-1536}.
func mebibytes(t *testing.T, v any) int64 {
	t.Helper()
	text := fmt.Sprint(v)
	if _, or, ok := strings.Cut(text, ":-"); ok {
		text = strings.TrimSuffix(or, "}")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("limit_mib %v: %v", v, err)
	}
	return n
}
