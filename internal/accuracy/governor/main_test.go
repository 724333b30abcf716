package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/service"
	"github.com/otelgc/otelgc/internal/accuracy/trial"
)

func TestMain(m *testing.M) {
	service.Main()
	os.Exit(m.Run())
}

// TestRun: every service runs and has its line. What the figures are is no
// matter of a test.
func TestRun(t *testing.T) {
	var out, log bytes.Buffer
	args := strings.Fields("-pairs 1 -warmup 50ms -span 200ms -slice-wait 100ms -conns 2 -live 1 -idle 100 -pin=false")
	if err := program().Run(context.Background(), args, &out, &log); err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	for _, want := range []string{"## Exact tracing", "| quiet |", "| saturated |", "| 100 idle goroutines |", "saw no slice begin"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// A service of 1000 requests/s takes 0.1 CPUs, and while it is traced, a fifth
// of the time, 0.12: that is 0.004 CPUs more, less than the floor allows.
func TestCosts(t *testing.T) {
	e := experiment{budget: 0.01}
	var p trial.Pair
	p.Without.All = service.Part{Wall: 30 * time.Second, CPU: 3 * time.Second, Served: 30_000}
	p.With.Traced = service.Part{Wall: 2 * time.Second, CPU: 240 * time.Millisecond, Served: 2000}
	p.With.All = service.Part{Wall: 10 * time.Second, CPU: 1040 * time.Millisecond, Served: 10_000}
	for name, got := range map[string]float64{"across": across(p), "inside": inside(p)} {
		if math.Abs(got-0.004) > 1e-9 {
			t.Errorf("%s = %v, want 0.004", name, got)
		}
	}
	row := e.row("it", []trial.Pair{p})
	if want := "0.80"; row[6] != want || row[8] != want {
		t.Errorf("cost / budget = %s and %s, want %s", row[6], row[8], want)
	}
}
