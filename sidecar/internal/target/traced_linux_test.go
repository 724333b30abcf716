package target

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace/evidence"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// buildTraced compiles the service of testdata/traced in a module of its own, which has what
// ours requires.
func buildTraced(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{"testdata/traced/main.go": "main.go", "../../../go.mod": "go.mod", "../../../go.sum": "go.sum"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if to == "go.mod" {
			text = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(text, []byte("module example.com/traced"))
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "traced", ".")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return filepath.Join(dir, "traced")
}

// startTraced starts the service of testdata/traced, which ends with the test.
func startTraced(t *testing.T, exe string) (pid int, address string, in io.Writer, out *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(exe)
	cmd.Env = []string{"OTEL_SERVICE_NAME=traced"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	out = bufio.NewReader(pipe)
	if address, err = out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.TrimSpace(address), in, out
}

// tracedSpan is a span without a parent, in Unix ns.
type tracedSpan struct {
	Name       string
	Start, End int64
}

// tracedSpans returns what the service says of its spans, by name.
func tracedSpans(t *testing.T, out *bufio.Reader) map[string]tracedSpan {
	t.Helper()
	var all []tracedSpan
	line, err := out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	spans := make(map[string]tracedSpan)
	for _, s := range all {
		spans[s.Name] = s
	}
	return spans
}

// TestTracedRequests: of a service with spans of the OpenTelemetry SDK each request of a slice
// comes as one event, which is of one of its spans and charged in full.
func TestTracedRequests(t *testing.T) {
	exe := buildTraced(t)
	for _, doors := range []Doors{Both, Tracer} {
		t.Run(string(doors), func(t *testing.T) {
			exe := exe
			if doors == Both {
				needProbes(t)
			} else {
				exe = unknownRelease(t, exe)
			}
			pid, address, in, out := startTraced(t, exe)
			r := newRig(t, Options{Selector: selector(t, strconv.Itoa(pid)), Pprof: "http://" + address})
			r.await("watching a Go process", 1)
			var events []otlptest.Log
			for end := time.Now().Add(3 * time.Minute); len(events) == 0; time.Sleep(10 * time.Millisecond) {
				if events = r.events(semconv.EventTraced); time.Now().After(end) {
					t.Fatalf("no request came:\n%s", r.log)
				}
			}
			if _, err := fmt.Fprintln(in); err != nil {
				t.Fatal(err)
			}
			spans := tracedSpans(t, out)
			summary := r.stop()[0]
			events = r.events(semconv.EventTraced)
			if summary.Doors != doors {
				t.Errorf("seen through %q, want %q:\n%s", summary.Doors, doors, r.log)
			}
			if n := summary.Pulled.Requests; uint64(len(events)) > n || n == 0 {
				t.Errorf("%d events of %d requests", len(events), n)
			}
			const ms = int64(time.Millisecond)
			offset := int64(r.Watcher.o.Clock.Wall().Offset)
			delayed, found := 0, 0
			for _, e := range events {
				a := e.GetAttributes()
				got := text(a, semconv.AttrSource) + " " + text(a, semconv.AttrFidelity) + " " + e.Resource["service.name"]
				start, end := integer(e, semconv.AttrStart), integer(e, semconv.AttrEnd)
				var total float64
				for _, key := range semconv.OwnerKeys() {
					total += otlptest.Attribute(a, key).GetDoubleValue()
				}
				if want := time.Duration(end - start).Seconds(); got != "gotrace exact traced" || total < want-1e-8 || total > want+1e-8 {
					t.Errorf("an event of %q with %v s of its %v", got, total, want)
				}
				if text(a, semconv.AttrGCOverlap) != "none" {
					delayed++
				}
				// The SDK reads the clock before the task begins, and before it ends.
				s, known := spans[text(a, semconv.AttrTask)]
				if known && (start+offset < s.Start-ms || end+offset < s.End-ms || start+offset > s.End) {
					t.Errorf("%q from %d to %d, the span from %d to %d", s.Name, start, end, s.Start-offset, s.End-offset)
				}
				if known {
					found++
				}
			}
			if found == 0 {
				t.Errorf("none of %d requests has its span among %d: nothing is proven", len(events), len(spans))
			}
			if delayed == 0 {
				t.Errorf("no request of %d was delayed by a collection: nothing is proven", len(events))
			}
		})
	}
}

// TestTracedProgramIsExecuted: a process that could not be probed is looked at anew when it
// executes another program, by its probes and by the trace of what was asked for.
func TestTracedProgramIsExecuted(t *testing.T) {
	needProbes(t)
	exe := buildTraced(t)
	pid, address, in, _ := startTraced(t, unknownRelease(t, exe))
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(pid)), Pprof: "http://" + address})
	r.await("its stops are seen in slices of its trace alone", 1)
	if _, err := fmt.Fprintln(in, exe); err != nil {
		t.Fatal(err)
	}
	r.await("watching a Go process", 2)
	if s := r.stop()[0]; s.Doors != Probes && s.Doors != Both || s.Sessions != 2 {
		t.Errorf("seen through %q in %d sessions, want its probes in the second:\n%s", s.Doors, s.Sessions, r.log)
	}
}

// TestTwins: of requests that began and ended together under one name none is sent.
func TestTwins(t *testing.T) {
	const ms = stall.Instant(time.Millisecond)
	request := func(start, end stall.Instant, name string) (q evidence.Request) {
		q.Start, q.End, q.Name = start, end, name
		return q
	}
	all := []evidence.Request{
		request(10*ms, 20*ms, "a"), request(10*ms+ms/2, 20*ms-ms/2, "a"), // twins
		request(10*ms, 30*ms, "a"), request(40*ms, 50*ms, "a"), request(40*ms, 50*ms, "b"), request(42*ms, 50*ms, "a"),
	}
	got := fmt.Sprint(twins(all))
	if want := "[true true false false false false]"; got != want {
		t.Errorf("twins %s, want %s", got, want)
	}
	crowd := make([]evidence.Request, 3*mostNear)
	for i := range crowd {
		crowd[i] = request(stall.Instant(i+1), 1000*ms+stall.Instant(i)*2*ms, "c")
	}
	if got := twins(crowd); !got[0] || !got[len(got)-1] {
		t.Error("of a crowd that began at once those are sent that were not compared with all")
	}
}

// TestSliceHoldsTheWatermark: while the requests of a slice are not told, the source does not
// pass its begin; it never goes back.
func TestSliceHoldsTheWatermark(t *testing.T) {
	tel, err := telemetry.New(telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{output: &output{telemetry: tel}, outside: outside{goes: true}}
	for _, x := range []struct{ mark, slice, want stall.Instant }{{10, 0, 10}, {20, 15, 15}, {30, 15, 15}, {40, 0, 40}, {50, 35, 40}} {
		p.mark, p.golang.both = x.mark, bothDoors{begun: x.slice, hold: x.slice}
		if p.report(x.mark+1, false); p.reported != x.want {
			t.Errorf("seen up to %d, with a slice from %d: the watermark is %d, want %d", x.mark, x.slice, p.reported, x.want)
		}
	}
}
