package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/internal/accuracy/service"
)

func TestMain(m *testing.M) {
	service.Main()
	os.Exit(m.Run())
}

// TestRun: every setting runs and has its line. What the figures are is no
// matter of a test.
func TestRun(t *testing.T) {
	var out, log bytes.Buffer
	args := strings.Fields("-rounds 1 -warmup 50ms -span 200ms -conns 2 -live 1 -rate 100")
	if err := program().Run(context.Background(), args, &out, &log); err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	for _, s := range settings {
		if !strings.Contains(out.String(), "| "+s.name+" |") {
			t.Errorf("no line of %s in:\n%s", s.name, out.String())
		}
	}
}

func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	bounds := []float64{-inf, 0, 1e-6, 4e-6, 9e-6, inf}
	counts := []uint64{0, 1, 5, 3, 1}
	var got []float64
	for _, q := range []float64{0.1, 0.5, 0.6, 0.9, 1} {
		got = append(got, quantile(counts, bounds, q))
	}
	if d := cmp.Diff([]float64{1, 2, 2, 6, 9}, got, cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Errorf("quantiles (-want +got):\n%s", d)
	}
	if q := quantile(make([]uint64, 5), bounds, 0.5); !math.IsNaN(q) {
		t.Errorf("quantile of nothing = %v, want NaN", q)
	}
}
