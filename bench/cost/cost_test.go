package cost

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/shop"
)

var update = flag.Bool("update", false, "write the golden page")

// TestPage: the page of fixed rows, through the command's own flag.
func TestPage(t *testing.T) {
	const rows, golden = "testdata/rows.csv", "testdata/page.md"
	var out, log bytes.Buffer
	if err := Experiment().Run(t.Context(), []string{"-from", rows}, &out, &log); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("page (-want +got):\n%s", d)
	}
}

func sample() Row {
	return Row{
		Shape: "http", Setting: standard, Pair: 1, Rate: 5000, WindowS: 30,
		Without: Side{Requests: 1000, CPUs: 0.1, Answers: 1000, LoadS: 2, P50: 100, P99: 200, P999: 300, PeakKB: 1 << 10, StartMS: 10, BinaryB: 1e6, LifeS: 60},
		With:    Side{Requests: 2000, CPUs: 0.21, Answers: 2000, LoadS: 4, P50: 110, P99: 210, P999: 330, PeakKB: 2 << 10, StartMS: 12.5, BinaryB: 3e6, OutB: 5000, LifeS: 60, TracedS: 3, Cycles: 7},
	}
}

// TestLog: rows come back from a file as they went in, and a second run knows them.
func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	l, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	second := sample()
	second.Pair, second.BesideCPUs, second.BesidePeakKB = 2, 0.25, 100
	for _, err := range []error{l.note("Measured on this."), l.note("Measured on this."), l.add(sample()), l.add(second)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	again, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Rows{Notes: []string{"Measured on this."}, Rows: []Row{sample(), second}}, again.Rows); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	if !again.has("http", standard, 2) || again.has("http", standard, 3) || again.has("grpc", standard, 2) {
		t.Error("the pairs that are there are not known")
	}
}

func TestReadRowsRefuses(t *testing.T) {
	head := strings.Join(columns, ",") + "\n"
	row := sample()
	good := strings.Join(row.record(), ",") + "\n"
	for name, text := range map[string]string{
		"columns": strings.Replace(head, "pair", "pears", 1) + good, "number": head + strings.Replace(good, "5000", "many", 1), "short": head + "http,default\n",
		"no requests": head + strings.Replace(good, ",1000,", ",0,", 1), "no answers": head + strings.Replace(good, ",1000,2,", ",0,2,", 1), "long": head + strings.Repeat(good, maxFile/len(good)+1),
	} {
		if _, err := ReadRows(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if rows, err := ReadRows(strings.NewReader(head + good)); err != nil || len(rows.Rows) != 1 {
		t.Errorf("a good row: %d rows, %v", len(rows.Rows), err)
	}
}

// TestRowsOfAnotherMachine: a file holds rows of one machine, whatever the day and its clock.
func TestRowsOfAnotherMachine(t *testing.T) {
	const (
		first   = "Measured on CPU (family 25, 2596.146 MHz), virtual machine; 2 CPUs; linux/amd64, kernel 6.18; go1.26.8; 2026-11-25. Again: `cd bench && go run . cost`."
		later   = "Measured on CPU (family 25, 3100.000 MHz), virtual machine; 2 CPUs; linux/amd64, kernel 6.18; go1.26.8; 2026-12-01. Again: `cd bench && go run . cost -few 3`."
		another = "Measured on CPU (family 25, 2596.146 MHz), virtual machine; 4 CPUs; linux/amd64, kernel 6.18; go1.26.8; 2026-11-25. Again: `cd bench && go run . cost`."
	)
	l := &log{path: "rows.csv", Rows: Rows{Notes: []string{leftOut + "datadog: no agent", first}}}
	if err := l.here(later); err != nil {
		t.Errorf("the same machine: %v", err)
	}
	const want = "rows.csv: its rows were measured on CPU (family 25), virtual machine; 2 CPUs; linux/amd64, kernel 6.18; go1.26.8, " +
		"and this is CPU (family 25), virtual machine; 4 CPUs; linux/amd64, kernel 6.18; go1.26.8: name another file by -rows"
	if err := l.here(another); err == nil || err.Error() != want {
		t.Errorf("another machine: got %v, want %s", err, want)
	}
	if err := new(log).here(another); err != nil {
		t.Errorf("no rows: %v", err)
	}
}

// TestResult: 100 us become 105 us, and 500 requests/s stay.
func TestResult(t *testing.T) {
	r := newResult(find(standard), []Row{sample()})
	got := []float64{r.cpu.Median, r.p50.Median, r.p99.Median, r.p999.Median, r.throughput.Median, r.peak.Median, r.start.Median, r.bytes, r.rows[0].With.outPerMinute()}
	for i, want := range []float64{5, 1.1, 1.05, 1.1, 1, 1, 2.5, 2, 5} {
		if d := got[i] - want; d > 1e-9 || d < -1e-9 {
			t.Errorf("figure %d: got %v, want %v", i, got[i], want)
		}
	}
}

func TestJudge(t *testing.T) {
	at := func(name string, median, low, high float64) *result {
		r := newResult(find(name), []Row{sample()})
		r.cpu, r.p99 = harness.Interval{Median: median, Low: low, High: high}, harness.Interval{Median: 1 + median/100, Low: 1 + low/100, High: 1 + high/100}
		return r
	}
	http := &shapes(1)[0]
	for _, test := range []struct {
		name string
		all  results
		want []string
	}{
		{"met", results{at(nothing, 0, -0.9, 0.9), at(standard, 0.5, 0, 1), at(alwaysOn, 2, 1, 3)}, []string{"holds 0", "1.00 %, met", "1.00 (1.00 to 1.01), met", "0.50 % of 2.00 %, met", "by CPU: none"}},
		{"not met", results{at("metrics", 0.1, 0, 0.9), at(standard, 1.5, 1, 2), at(alwaysOn, 5, 1, 6), at(nothing, 1, 0.5, 1.5)}, []string{"does not hold 0", "does not hold 1", "2.00 %, not met", "1.01 (1.01 to 1.02), not judged", "5.00 %, not met", "by CPU: `contrib/instrumentation/runtime`;"}},
		{"p99 is not met", results{at(standard, 1.5, 1, 2), at(nothing, 0, -0.5, 0.5)}, []string{"holds 1", "1.01 (1.01 to 1.02), not met"}},
		{"p99 is not seen", results{at(standard, 0.5, 0, 1), at(nothing, 0, -2, 2)}, []string{"1.00 (1.00 to 1.01), not judged"}},
	} {
		said := strings.Join(judge(http, test.all), "\n")
		for _, want := range test.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %q in:\n%s", test.name, want, said)
			}
		}
	}
}

func TestWanted(t *testing.T) {
	e := &cost{pairs: 20, few: 6}
	got := make(map[string]int)
	for _, only := range []string{"", "http/default", "grpc", "heap/otel,http/metrics"} {
		e.only = only
		for _, s := range shapes(1) {
			for i := range all {
				got[only] += e.wants(&s, &all[i])
			}
		}
	}
	if d := cmp.Diff(map[string]int{"": (20 + 2*10 + 9*6) + 8*6 + 8*6 + 2*6, "http/default": 20, "grpc": 8 * 6, "heap/otel,http/metrics": 12}, got); d != "" {
		t.Errorf("pairs (-want +got):\n%s", d)
	}
}

// TestOnly: the flag -only refuses a name that is neither a shape nor a setting.
func TestOnly(t *testing.T) {
	for only, ok := range map[string]bool{"http": true, "http/default,grpc": true, "": true, "http/no": false, "http,": false, "grpc/datadog": false, "htpp": false} {
		e := &cost{only: only}
		if err := e.known(); (err == nil) != ok {
			t.Errorf("-only %q: %v", only, err)
		}
	}
}

// TestPublished: each page of costs is that of the rows beside it.
func TestPublished(t *testing.T) {
	files, err := filepath.Glob("../../docs/accuracy/cost*.csv")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of rows, %v", len(files), err)
	}
	for _, file := range files {
		var out, log bytes.Buffer
		if err := Experiment().Run(t.Context(), []string{"-from", file}, &out, &log); err != nil {
			t.Fatal(err)
		}
		page := strings.TrimSuffix(file, ".csv") + ".md"
		want, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), out.String()); d != "" {
			t.Errorf("%s is stale (-want +got):\n%s", page, d)
		}
	}
}

// TestRun: every setting runs in every shape, but for those that this machine lacks, and
// has its line. Figures are not tested.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	args := strings.Fields("-pairs 1 -few 1 -warmup 1ms -span 1ms -max 1ms -slot 10ms -turn 20ms -rate 200 -conns 2 -live 1 -pin=false -rows " + path)
	var out, log bytes.Buffer
	if err := Experiment().Run(t.Context(), args, &out, &log); err != nil {
		t.Fatalf("run: %v\n%s", err, log.String())
	}
	l, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shapes(1) {
		for _, v := range all {
			if !v.in(&s) || l.has(s.name, v.name, 1) {
				continue
			}
			if !v.mayFail {
				t.Errorf("%s/%s has no row", s.name, v.name)
				continue
			}
			t.Logf("skipped: %s/%s", s.name, v.name)
		}
	}
	for _, r := range l.Rows.Rows {
		if r.Setting == "otel" && r.With.OutB == 0 {
			t.Errorf("%s/%s exported nothing", r.Shape, r.Setting)
		}
	}
	for _, want := range []string{"### grpc", "| otelgc, default budget | 1 |", "| all, by hand, for who keeps the trace |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	t.Log(log.String())
}

// TestWhole: CPU counts from the end of one collection to the end of another, even where
// the second ends after the window.
func TestWhole(t *testing.T) {
	trail := func(cycles ...uint64) (all []reading) {
		for i, c := range cycles {
			all = append(all, reading{cpu: time.Duration(i), Usage: shop.Usage{Cycles: c}})
		}
		return all
	}
	for _, test := range []struct {
		trail    []reading
		end      int
		from, to time.Duration
	}{
		{trail(5, 5, 6, 6, 7, 7, 8), 4, 2, 4}, {trail(5, 5, 6, 6, 7, 7, 8), 5, 2, 6},
		{trail(5, 5, 5, 6), 2, 0, 2}, {trail(5, 6, 6), 2, 0, 2}, {trail(1, 1), 1, 0, 1},
	} {
		from, to := whole(test.trail, test.end)
		if from.cpu != test.from || to.cpu != test.to {
			t.Errorf("%v until %d: got %d to %d, want %d to %d", test.trail, test.end, from.cpu, to.cpu, test.from, test.to)
		}
	}
}
