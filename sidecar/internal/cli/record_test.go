package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/doctor"
	"github.com/otelgc/otelgc/stall"
)

// TestRecorderTellsProbesApart: a gap is its probe's, with what decided its cause,
// and what all CPUs have in common is nobody's.
func TestRecorderTellsProbesApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.rec")
	file, err := recording.Create(path, recording.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{file: file, byCPU: map[int32]int{3: 1, 0: 2}}
	quiet := jitterprobe.Evidence{Witness: jitterprobe.Silence, Time: 9}
	slept := jitterprobe.Evidence{Witness: jitterprobe.BootClock}
	every := jitterprobe.Evidence{Witness: jitterprobe.EveryCPU}
	for _, g := range []jitterprobe.Gap{
		{Interval: stall.Interval{Start: 10, End: 20, CPU: 3, Cause: stall.HostSteal, Scope: stall.ScopeCPU}, Evidence: quiet},
		{Interval: stall.Interval{Start: 12, End: 19, CPU: 0, Cause: stall.HostSteal, Scope: stall.ScopeCPU}},
		{Interval: stall.Interval{Start: 12, End: 19, CPU: -1, Cause: stall.HostSteal, Scope: stall.ScopeMachine}, Evidence: every},
		{Interval: stall.Interval{Start: 30, End: 40, CPU: 3, Cause: stall.HostSuspended, Scope: stall.ScopeMachine}, Evidence: slept},
	} {
		r.gap(g)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	type gap struct {
		Start    stall.Instant
		Evidence jitterprobe.Evidence
	}
	got := map[int][]gap{}
	for _, record := range readAll(t, path) {
		if gaps, ok := record.(recording.Gaps); ok {
			for _, g := range gaps.List {
				got[gaps.Probe] = append(got[gaps.Probe], gap{g.Start, g.Evidence})
			}
		}
	}
	want := map[int][]gap{recording.AllProbes: {{12, every}}, 1: {{10, quiet}, {30, slept}}, 2: {{12, jitterprobe.Evidence{}}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("gaps by probe (-want +got):\n%s", d)
	}
}

// readAll returns the records of a file.
func readAll(t *testing.T, path string) (list []recording.Record) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := recording.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for record, err := in.Next(); err == nil; record, err = in.Next() {
		list = append(list, record)
	}
	return list
}

// TestDoctorOfWhoIsFoundLater: of the processes that are found by their name the
// doctor is asked when they are found, once about each, and not about too many.
func TestDoctorOfWhoIsFoundLater(t *testing.T) {
	probe, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic})
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Stop()
	path := filepath.Join(t.TempDir(), "x.rec")
	var log strings.Builder
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecorder(path, "", clock, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	r.name(0, []*jitterprobe.Probe{probe})
	r.begin(0)
	self := os.Getpid()
	r.add(recording.Target{ID: 1, PID: self})
	r.add(recording.Target{ID: 1, PID: self}) // more has become known of it
	r.add(recording.Target{ID: 2, PID: os.Getppid()})
	r.add(recording.Target{ID: 3}) // it cannot be seen from here
	const none = 1 << 30           // nobody has such a number
	for i := range maxExamined {
		r.add(recording.Target{ID: 4 + i, PID: none + i})
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	got := map[int]int{}
	for _, record := range readAll(t, path) {
		d, ok := record.(recording.Doctor)
		if !ok {
			continue
		}
		var report doctor.Report
		if err := json.Unmarshal(d.RawMessage, &report); err != nil {
			t.Fatal(err)
		}
		if report.Target == 0 { // the machine
			continue
		}
		got[report.Target]++
		for _, c := range report.Checks {
			if !strings.HasPrefix(c.ID, "target.") {
				t.Errorf("check %s, want those of the target only", c.ID)
			}
		}
	}
	if diff := cmp.Diff(map[int]int{self: 1, os.Getppid(): 1}, got); diff != "" {
		t.Errorf("answers by process (-want +got):\n%s", diff)
	}
	if n := strings.Count(log.String(), "the recording lacks a report of doctor"); n != maxExamined-2 {
		t.Errorf("the log tells of %d processes that were not there, want %d", n, maxExamined-2)
	}
	if n := strings.Count(log.String(), "doctor does not examine any more processes for the recording"); n != 1 {
		t.Errorf("the log says %d times that there are too many, want once", n)
	}
}

// TestDoctorOfAServicesRecording: a service cannot ask the doctor, so the report does,
// about the machine and about the process that recorded, but about no other that has its
// PID by now.
func TestDoctorOfAServicesRecording(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	probe := recording.Probe{Mode: "periodic", CPU: -1}
	for name, test := range map[string]struct {
		began time.Time
		pid   int
		want  string // a check; none: an error
	}{
		"machine":         {time.Now(), 0, "clocksource"},
		"process":         {time.Now(), os.Getpid(), "target.cpus"},
		"another process": {time.Unix(0, 0), os.Getpid(), ""},
		"no process":      {time.Now(), 1 << 22, ""},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := examineForReport(recording.Environment{Started: test.began}, probe, test.pid)
			if (err != nil) != (test.want == "") {
				t.Fatalf("%s, %v", document, err)
			}
			if test.want != "" && !strings.Contains(string(document), `"`+test.want+`"`) {
				t.Errorf("no check %s in %s", test.want, document)
			}
		})
	}
}
