package sidecar

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/internal/dotnetipc/azmcp"
	"github.com/otelgc/otelgc/internal/gouprobe"
)

// TestDotNet: every part runs and has its lines. Figures are not tested.
func TestDotNet(t *testing.T) {
	if _, err := azmcp.Find(); errors.Is(err, azmcp.ErrMissing) {
		t.Skip(err)
	}
	var out, log bytes.Buffer
	args := strings.Fields("-pairs 1 -few 0 -warmup 1ms -settle 1ms -span 100ms -rounds 1 -sessions 4 -beat 50ms -memory 500ms -targets 1 -stall 2s -pin=false")
	if err := DotNet().Run(t.Context(), args, &out, &log); err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	for _, want := range []string{
		"| `--target NAME` |", "| many collections | 4 | 1 |", "**All parts of one session:**", "with 1 such services at once",
		"| a flood of events that nobody reads |", ", 0 missing among their numbers, 0 incomplete, 0 events lost.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), " and 0 were dropped") {
		t.Errorf("the flood did not fill the buffer:\n%s", out.String())
	}
}

// TestDoors: every way to watch runs and has its line, and the second door sees requests.
// Figures are not tested.
func TestDoors(t *testing.T) {
	var out, log bytes.Buffer
	args := strings.Fields("-pairs 1 -few 1 -stops 1 -warmup 1ms -settle 1ms -span 100ms -cycles 1 -rate 200 -conns 2 -live 1 -pin=false")
	if err := Doors().Run(t.Context(), args, &out, &log); err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	want := []string{"| door two: slices", "| `contrib/instrumentation/runtime`", "| its trace, always on", "**A slice.**", "by slices without rests, door two: below 1.5 %"}
	if gouprobe.Supported() == nil {
		want = append(want, "| door one: probes", "**A stop.**")
	}
	for _, want := range want {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), " 0 requests in ") || strings.Contains(out.String(), "hold no whole cycles") {
		t.Errorf("no slice was taken:\n%s\n%s", out.String(), log.String())
	}
}

// TestJudge: a goal is met at the median, at the upper end of the interval, or not judged.
func TestJudge(t *testing.T) {
	v := &door{name: "door two: slices", goal: 1.5}
	for want, cost := range map[string]harness.Interval{
		"door two: below 1.5 % at the median, met; at the upper end of the interval, met":         {Median: 0.6, Low: -0.1, High: 1.4},
		"door two: below 1.5 % at the median, met; at the upper end of the interval, not met":     {Median: 0.6, Low: -0.1, High: 1.5},
		"door two: below 1.5 % at the median, not met; at the upper end of the interval, not met": {Median: 2, Low: 1.6, High: 3},
		"door two: below 1.5 %, not judged: too few pairs":                                        harness.Of([]float64{0.1, 0.2}),
	} {
		if got := v.judge(cost); got != want {
			t.Errorf("%v: got %q, want %q", cost, got, want)
		}
	}
}

func TestMore(t *testing.T) {
	p := harness.Pairs[stretch]{{
		Without: stretch{cpu: 100 * time.Millisecond, answers: make([]float64, 1000)},
		With:    stretch{cpu: 210 * time.Millisecond, answers: make([]float64, 2000)},
	}}
	if got := p.More(stretch.perRequest)[0]; got < 4.999 || got > 5.001 {
		t.Errorf("more CPU: got %v %%, want 5", got)
	}
}
