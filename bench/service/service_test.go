package service

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/bench/harness"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// TestRun: every setting runs and has its line. Figures are not tested.
func TestRun(t *testing.T) {
	for _, test := range []struct {
		e    harness.Experiment
		args string
		want []string
		runs int
	}{
		{Cost(), "-pairs 1 -few 1 -warmup 50ms -span 200ms -slice-wait 100ms -conns 2 -live 1 -share 0.1 -pin=false",
			[]string{"## What otelgc costs", "| default budget (1 %) |", "| tracing always (1) |", "| default budget, saturated |"}, 9},
		{Governor(), "-pairs 1 -warmup 50ms -span 200ms -slice-wait 100ms -conns 2 -live 1 -idle 100 -pin=false",
			[]string{"## Exact tracing", "| quiet |", "| saturated |", "| 100 idle goroutines |", "saw no slice begin"}, 6},
		{Probes(), "-rounds 1 -warmup 50ms -span 200ms -conns 2 -live 1 -rate 100",
			[]string{"| no probe |", "| `spin` in another process |", "| `spin` in the service |", "| `runtime` in the service |", "| `periodic` in the service |", "| a goroutine that spins |"}, 6},
	} {
		t.Run(test.e.Name, func(t *testing.T) {
			var out, log bytes.Buffer
			if err := test.e.Run(t.Context(), strings.Fields(test.args), &out, &log); err != nil {
				t.Fatalf("run: %v\n%s", err, log.String())
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
			if n := strings.Count(log.String(), " requests, "); n != test.runs {
				t.Errorf("%d runs, want %d:\n%s", n, test.runs, log.String())
			}
		})
	}
}

func TestMoreCPU(t *testing.T) {
	var p pair
	p.Without.Part = Part{Wall: time.Second, CPU: 100 * time.Millisecond, Served: 1000}
	p.With.Part = Part{Wall: 2 * time.Second, CPU: 210 * time.Millisecond, Served: 2000}
	if got := (pairs{p}).More(Usage.perRequest)[0]; math.Abs(got-5) > 1e-3 {
		t.Errorf("more CPU = %v, want 5", got)
	}
	p.With.Served = 1900
	if got := lessThroughput(p); math.Abs(got-5) > 1e-3 {
		t.Errorf("lessThroughput = %v, want 5", got)
	}
}

// A service of 1000 requests/s takes 0.1 CPUs, and while it is traced, a fifth
// of the time, 0.12: that is 0.004 CPUs more, less than the floor allows.
func TestGovernorCosts(t *testing.T) {
	var p pair
	p.Without.Part = Part{Wall: 30 * time.Second, CPU: 3 * time.Second, Served: 30_000}
	p.With.Traced = Part{Wall: 2 * time.Second, CPU: 240 * time.Millisecond, Served: 2000}
	p.With.Part = Part{Wall: 10 * time.Second, CPU: 1040 * time.Millisecond, Served: 10_000}
	for name, got := range map[string]float64{"across": across(p), "inside": inside(p)} {
		if math.Abs(got-0.004) > 1e-9 {
			t.Errorf("%s = %v, want 0.004", name, got)
		}
	}
	table := harness.NewTable("x")
	row(table, "it", pairs{p})
	row := strings.Split(table.String(), " | ")
	if want := "0.80"; row[6] != want || row[8] != want {
		t.Errorf("cost / budget = %s and %s, want %s", row[6], row[8], want)
	}
}

func TestUsagePlus(t *testing.T) {
	a := Usage{Cycles: 3, Stops: []uint64{1, 5}, AtSlice: true}
	b := Usage{Cycles: 2, Stops: []uint64{1, 2}, AtSlice: true}
	if d := cmp.Diff(Usage{Cycles: 1, Stops: []uint64{0, 3}, Stopping: []uint64{}, AtSlice: true}, a.plus(b, -1)); d != "" {
		t.Errorf("difference (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]uint64{1, 2}, Usage{}.plus(b, 1).Stops); d != "" {
		t.Errorf("sum with nothing (-want +got):\n%s", d)
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
