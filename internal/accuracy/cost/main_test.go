package main

import (
	"bytes"
	"context"
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

// TestRun: every setting runs and has its line. What the figures are is no
// matter of a test.
func TestRun(t *testing.T) {
	var out, log bytes.Buffer
	args := strings.Fields("-pairs 1 -few 1 -warmup 50ms -span 200ms -slice-wait 100ms -conns 2 -live 1 -share 0.1 -pin=false")
	if err := program().Run(context.Background(), args, &out, &log); err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	for _, want := range []string{"## What otelgc costs", "| default budget (1 %) |", "| tracing always (1) |", "| default budget, saturated |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if n := strings.Count(log.String(), " requests, "); n != 9 {
		t.Errorf("%d runs, want 9:\n%s", n, log.String())
	}
}

func TestMoreCPU(t *testing.T) {
	p := trial.Pair{}
	p.Without.All = service.Part{Wall: time.Second, CPU: 100 * time.Millisecond, Served: 1000}
	p.With.All = service.Part{Wall: 2 * time.Second, CPU: 210 * time.Millisecond, Served: 2000}
	if got := moreCPU(p); got < 4.999 || got > 5.001 {
		t.Errorf("moreCPU = %v, want 5", got)
	}
	p.With.All.Served = 1900
	if got := lessThroughput(p); got < 4.999 || got > 5.001 {
		t.Errorf("lessThroughput = %v, want 5", got)
	}
}
