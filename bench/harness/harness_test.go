package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPage(t *testing.T) {
	p := NewPage("Speed", "x", io.Discard)
	table := NewTable("who | how much")
	table.Row("%s | %d", "we", 2)
	p.Table(table)
	p.Para("That is %d.", 2)
	want := "## Speed\n\nMeasured on " + machine() + ". Again: `cd bench && go run . x`.\n\n| who | how much |\n|---|--:|\n| we | 2 |\n\nThat is 2.\n"
	if d := cmp.Diff(want, p.String()); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

type count int

func (n *count) Flags(f *flag.FlagSet) { f.IntVar((*int)(n), "n", 1, "what to write") }

func (n *count) Measure(_ context.Context, p *Page) error {
	p.Para("It is %d.", *n)
	p.Logf("done")
	if *n > 7 {
		return fmt.Errorf("count: %w", ErrUnmet)
	}
	return nil
}

// TestRun: the figures are written above all where they are not what they should be.
func TestRun(t *testing.T) {
	e := Experiment{Name: "count", Title: "A count", Measurement: new(count)}
	for _, test := range []struct {
		args []string
		want string
		err  error
	}{{[]string{"-n", "7"}, "It is 7.\n", nil}, {[]string{"-n", "8"}, "It is 8.\n", ErrUnmet}} {
		var out, log strings.Builder
		if err := e.Run(t.Context(), test.args, &out, &log); !errors.Is(err, test.err) {
			t.Errorf("%v: error %v, want %v", test.args, err, test.err)
		}
		if !strings.HasPrefix(out.String(), "## A count\n") || !strings.HasSuffix(out.String(), test.want) || !strings.HasSuffix(log.String(), " done\n") {
			t.Errorf("%v: page %q, log %q", test.args, out.String(), log.String())
		}
	}
	var log strings.Builder
	if err := e.Run(t.Context(), []string{"-m"}, io.Discard, &log); err == nil || !strings.Contains(log.String(), "-n int") {
		t.Errorf("an unknown flag: error %v, log %q, want an error and the flags", err, log.String())
	}
}

func upTo(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[(i*7)%n] = float64(i + 1) // n is no multiple of 7
	}
	return v
}

// An interval has the ranks of the sign test with a probability of 95 % or more: of
// 24 values those from 8 to 18, for the binomial distribution has 95.7 % there.
func TestInterval(t *testing.T) {
	for n, want := range map[int]Interval{
		0: {math.NaN(), math.Inf(-1), math.Inf(1)}, 5: {3, math.Inf(-1), 5}, 6: {3.5, 1, 6}, 20: {10.5, 6, 15}, 24: {12.5, 8, 18},
	} {
		if d := cmp.Diff(want, Of(upTo(n)), cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%d values (-want +got):\n%s", n, d)
		}
	}
	if got := []string{Of(upTo(5)).String(), Of(upTo(6)).Times(0.5).Text(3)}; got[0] != "n/a (too few)" || got[1] != "0.500 to 3.000" {
		t.Errorf("text: %q", got)
	}
}

func TestQuantile(t *testing.T) {
	v := upTo(10)
	got := []float64{Quantile(v, 0), Quantile(v, 0.5), Quantile(v, 0.9), Quantile(v, 1), Median(v)}
	if d := cmp.Diff([]float64{1, 5, 9, 10, 5.5}, got); d != "" {
		t.Errorf("quantiles (-want +got):\n%s", d)
	}
	if q := Quantile(nil, 0.5); !math.IsNaN(q) {
		t.Errorf("quantile of nothing = %v, want NaN", q)
	}
}

// The intervals are those of R's prop.test without continuity correction.
func TestWilson(t *testing.T) {
	for _, want := range []Share{
		{Hits: 0, Of: 10, Low: 0, High: 0.2775328},
		{Hits: 10, Of: 10, Fraction: 1, Low: 0.7224672, High: 1},
		{Hits: 81, Of: 263, Fraction: 0.3079848, Low: 0.2552695, High: 0.3662099},
		{Fraction: math.NaN(), High: 1},
	} {
		got := Wilson(want.Hits, want.Of)
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-4), cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%d of %d (-want +got):\n%s", want.Hits, want.Of, d)
		}
	}
	if got, want := Wilson(197, 200).String(), "98.5 % (95.7 to 99.5)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProc reads the counters of this process.
func TestProc(t *testing.T) {
	var sum [2]time.Duration
	for i := range sum {
		threads, err := Threads(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			sum[i] += thread.CPU
		}
		for start := ThreadCPU(); ThreadCPU()-start < 20*time.Millisecond; {
			runtime.Gosched()
		}
	}
	if sum[1] <= sum[0] {
		t.Errorf("the threads of a busy process ran %v, then %v", sum[0], sum[1])
	}
	if cpu, err := CPU(os.Getpid()); err != nil || cpu < sum[1] {
		t.Errorf("CPU time of the process: %v, %v, want %v or more", cpu, err, sum[1])
	}
	block := make([]byte, 8<<20)
	for i := range block {
		block[i] = 1
	}
	if got, err := Memory(os.Getpid()); err != nil || got < uint64(len(block)) {
		t.Errorf("memory of this process, which holds %d: %d, %v", len(block), got, err)
	}
	runtime.KeepAlive(block)
	for name, err := range map[string]error{"memory": second(Memory(1 << 23)), "threads": second(Threads(1 << 23)), "CPU": second(CPU(1 << 23))} {
		if err == nil {
			t.Errorf("%s of no process: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }
