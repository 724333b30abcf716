package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/otelgc"
)

func TestMain(m *testing.M) { noleak.Main(m) }

func monitor(t *testing.T) *otelgc.Monitor {
	t.Helper()
	m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// contents are the records of a recording, by their type.
type contents struct {
	environment recording.Environment
	targets     []recording.Target
	probes      []recording.Probe
	collections []recording.Collection
	suspensions []recording.Suspension
	gaps        int
	status      recording.Status // the last one
	end         recording.End
}

func read(t *testing.T, path string) (c contents) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for {
		record, err := r.Next()
		if err == io.EOF {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		switch v := record.(type) {
		case recording.Environment:
			c.environment = v
		case recording.Target:
			c.targets = append(c.targets, v)
		case recording.Probe:
			c.probes = append(c.probes, v)
		case recording.Collection:
			c.collections = append(c.collections, v)
		case recording.Suspension:
			c.suspensions = append(c.suspensions, v)
		case recording.Gaps:
			c.gaps += len(v.List)
		case recording.Status:
			c.status = v
		case recording.End:
			c.end = v
		}
	}
}

// TestServiceRecordsItself: what a report asks for is in the file, and nothing
// that was before the start.
func TestServiceRecordsItself(t *testing.T) {
	m := monitor(t)
	runtime.GC()
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "self.rec")
	r, err := Start(m, path, Options{Workload: "a test", Name: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	var mem runtime.MemStats
	const n = 30
	for range n {
		runtime.GC()
		runtime.ReadMemStats(&mem)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	c := read(t, path)
	e := c.environment
	if e.Recorder == "" || e.Workload != "a test" || runtime.GOOS == "linux" && (e.Machine == "" || e.OS == "" || e.BootID == "") {
		t.Errorf("environment %+v", e)
	}
	if len(c.targets) != 1 || len(c.probes) != 1 || c.targets[0].PID != os.Getpid() || c.targets[0].Name != "orders" || c.targets[0].Runtime != "go" {
		t.Fatalf("targets %+v, probes %+v, want this process and one probe", c.targets, c.probes)
	}
	if p := c.probes[0]; p.Target != c.targets[0].ID || p.Mode != "periodic" || p.Floor != jitterprobe.DefaultPeriodicThreshold {
		t.Errorf("probe %+v, want a periodic one inside", p)
	}
	collections := 0
	for i := range c.collections {
		if v := &c.collections[i]; v.End.Or(0) > e.At {
			collections += v.Cycles
		}
	}
	if collections < n || collections != len(c.collections) {
		t.Errorf("%d collections since the start in %d records, want %d or more and none before", collections, len(c.collections), n)
	}
	if len(c.suspensions) == 0 {
		t.Errorf("no stop of ReadMemStats")
	}
	if s := c.status; s.Probe != c.probes[0].ID || s.Watermark <= e.At || s.Unrecorded != 0 {
		t.Errorf("status %+v", s)
	}
	if c.end.At <= e.At {
		t.Errorf("end %+v", c.end)
	}
}

// TestBefore: collections that ended before the recording began, and are settled
// later, are no part of it.
func TestBefore(t *testing.T) {
	m := monitor(t)
	for range 5 {
		runtime.GC()
	}
	path := filepath.Join(t.TempDir(), "self.rec")
	r, err := Start(m, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c := read(t, path)
	for _, v := range c.collections {
		if end := v.End.Or(0); end < c.environment.At {
			t.Errorf("collection %d ended at %d, and the recording began at %d", v.Index, end, c.environment.At)
		}
	}
	if len(c.collections) == 0 {
		t.Error("the collection since is not in it")
	}
}

func TestStartRefuses(t *testing.T) {
	m := monitor(t)
	path := filepath.Join(t.TempDir(), "self.rec")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(m, path, Options{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "name another") {
		t.Errorf("a file that exists: %v", err)
	}
	if _, err := Start(m, path+"2", Options{Probe: 99}); err == nil {
		t.Error("mode 99: no error")
	}
	if _, err := os.Stat(path + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("mode 99: the file is left behind: %v", err)
	}
}

// TestFacts: nothing that a report asks for is missing or not known.
func TestFacts(t *testing.T) {
	got := facts()
	var names []string
	for name, value := range got {
		names = append(names, name)
		if value == "" || strings.HasPrefix(value, "unknown") {
			t.Errorf("%s is %q", name, value)
		}
	}
	if !strings.Contains(got[recording.FactBuild], "GOARCH="+runtime.GOARCH) {
		t.Errorf("build is %q, want what it was built for", got[recording.FactBuild])
	}
	want := append(slices.Clone(recording.RuntimeFacts["go"]), recording.FactBuild)
	slices.Sort(want)
	slices.Sort(names)
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
	for _, test := range [][3]string{
		{"", "", "none"}, {"a=1", "", "a=1"}, {"", "b=0", "b=0 (built in)"}, {"a=1", "b=0", "a=1, b=0 (built in)"},
	} {
		if got := godebug(test[0], test[1]); got != test[2] {
			t.Errorf("GODEBUG %q, built with %q: got %q, want %q", test[0], test[1], got, test[2])
		}
	}
}
