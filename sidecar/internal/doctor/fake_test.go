package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// fake is a machine out of a txtar file: what is before the first mark is its
// story, the file "options" says what is asked, and files below after/ take
// the place of others while the self-test runs.
type fake struct {
	files   fstest.MapFS
	after   map[string]string
	options map[string]string
}

func readFake(t testing.TB, path string) *fake {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{fstest.MapFS{"empty": {}}, map[string]string{}, map[string]string{}}
	name, begin := "", 0
	keep := func(end int) {
		data := string(text[begin:end])
		switch after, is := strings.CutPrefix(name, "after/"); {
		case name == "": // the story
		case name == "options":
			for _, word := range strings.Fields(data) {
				key, value, _ := strings.Cut(word, "=")
				f.options[key] = value
			}
		case is:
			f.after[after] = data
		default:
			f.files[name] = &fstest.MapFile{Data: []byte(data)}
		}
	}
	at := 0
	for line := range strings.Lines(string(text)) {
		if next, ok := strings.CutPrefix(strings.TrimSuffix(line, " --\n"), "-- "); ok {
			keep(at)
			name, begin = next, at+len(line)
		}
		at += len(line)
	}
	keep(at)
	return f
}

func (f *fake) ask(t *testing.T) Options {
	t.Helper()
	var o Options
	for key, value := range f.options {
		var err error
		switch key {
		case "mode":
			o.Mode, err = jitterprobe.ParseMode(value)
		case "cpu":
			var cpu int
			cpu, err = strconv.Atoi(value)
			o.CPU = &cpu
		case "target":
			o.Target, err = strconv.Atoi(value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// live is the kernel of the fake.
func (f *fake) live() live {
	refused := fmt.Errorf("perf_event_open: %w", fs.ErrPermission)
	l := live{
		perfThread: func() error { return nil },
		perfCPU:    func(int) error { return nil },
		loadBPF:    func() error { return nil },
		probeGo:    func() error { return nil },
		selfTest:   f.selfTest,
		limits:     func(o jitterprobe.Options) ([]jitterprobe.Limit, error) { return f.limits(o), nil },
	}
	if status := f.files["proc/self/status"]; status == nil || !strings.Contains(string(status.Data), "CapEff:\t000001ffffffffff\n") {
		l.loadBPF = func() error { return fmt.Errorf("bpf: %w", fs.ErrPermission) }
		l.probeGo = func() error {
			return fmt.Errorf("%w (needs CAP_BPF and CAP_PERFMON; see otelgc-sidecar doctor)", fs.ErrPermission)
		}
	}
	if f.options["perf"] != "all" {
		l.perfCPU = func(int) error { return refused }
	}
	if f.options["perf"] == "none" {
		l.perfThread = func() error { return refused }
	}
	return l
}

func (f *fake) selfTest(o jitterprobe.Options, d time.Duration) (jitterprobe.Trial, error) {
	if f.options["selftest"] == "fails" {
		return jitterprobe.Trial{}, errors.New("start probe: no clock")
	}
	for name, data := range f.after {
		f.files[name] = &fstest.MapFile{Data: []byte(data)}
	}
	t := goodTrial(d)
	t.Limits = f.limits(o)
	if o.CPU != nil {
		t.CPU = *o.CPU
	}
	if t.Mode = o.Mode; t.Mode != jitterprobe.Periodic {
		t.Mode = jitterprobe.Spin
		return t, nil
	}
	t.Counted, t.Own, t.CPUs, t.Loop, t.Balance = 0, nil, 0, 0, 0
	return t, nil
}

// limits are those of a probe on the fake.
func (f *fake) limits(o jitterprobe.Options) (list []jitterprobe.Limit) {
	if _, is := f.files["proc/self/cgroup"]; !is {
		list = append(list, jitterprobe.Limit{Causes: []stall.Cause{stall.HostThrottled}, Why: "no cgroup to be seen"})
	}
	unseen := []stall.Cause{stall.HostFault, stall.HostIRQ, stall.HostSteal}
	switch {
	case o.Mode == jitterprobe.Periodic:
		return append(list, jitterprobe.Limit{Causes: unseen, Why: "it sleeps", Mend: "use mode spin"})
	case f.options["perf"] == "none":
		return append(list, jitterprobe.Limit{Causes: unseen, Why: "perf_event_open: refused", Mend: "allow perf_event_open"})
	case f.options["perf"] != "all":
		return append(list, jitterprobe.Limit{Causes: unseen[1:], Why: "perf_event_open on a CPU: refused", Mend: "grant CAP_PERFMON"})
	}
	return list
}

// goodTrial is a self-test that finds nothing wrong.
func goodTrial(d time.Duration) jitterprobe.Trial {
	t := jitterprobe.Trial{
		Span: d, Counted: d + 2*time.Microsecond, Seen: 1, Own: &jitterprobe.Own{},
		Apart: 40 * time.Nanosecond, CPUs: 2,
	}
	t.Mode, t.CPU, t.Loop, t.Balance = jitterprobe.Spin, 1, 9.57, 1.0001
	t.Counts[1] = jitterprobe.Count{AtLeast: 10 * time.Microsecond, N: 600}
	t.Longest = jitterprobe.Gap{Interval: stall.Interval{Start: 1, End: 52001, Cause: stall.HostUnknown}}
	return t
}
