package service

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/shop"
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
	p.Without.Part = shop.Part{Wall: time.Second, CPU: 100 * time.Millisecond, Served: 1000}
	p.With.Part = shop.Part{Wall: 2 * time.Second, CPU: 210 * time.Millisecond, Served: 2000}
	if got := (pairs{p}).More(shop.Usage.PerRequest)[0]; math.Abs(got-5) > 1e-3 {
		t.Errorf("more CPU = %v, want 5", got)
	}
	p.With.Served = 1900
	if got := lessThroughput(p); math.Abs(got-5) > 1e-3 {
		t.Errorf("lessThroughput = %v, want 5", got)
	}
}

func TestUsagePlus(t *testing.T) {
	a, b := shop.Usage{Cycles: 3, AtSlice: true}, shop.Usage{Cycles: 2, AtSlice: true}
	if d := cmp.Diff(shop.Usage{Cycles: 1, AtSlice: true}, a.Plus(b, -1)); d != "" {
		t.Errorf("difference (-want +got):\n%s", d)
	}
}

// TestPlain: the service that is watched from outside has nothing of otelgc in it.
func TestPlain(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "./plain").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, path := range strings.Fields(string(list)) {
		if strings.Contains(path, "otelgc") {
			ours = append(ours, path)
		}
	}
	const here = "github.com/otelgc/otelgc/bench/service/"
	if d := cmp.Diff([]string{here + "shop", here + "plain"}, ours); d != "" {
		t.Errorf("packages of ours (-want +got):\n%s", d)
	}
}
