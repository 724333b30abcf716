package verb

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
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
		{Start: 10, End: 20, CPU: 3, Cause: stall.HostSteal, Scope: stall.ScopeCPU, Evidence: quiet},
		{Start: 12, End: 19, CPU: 0, Cause: stall.HostSteal, Scope: stall.ScopeCPU},
		{Start: 12, End: 19, CPU: -1, Cause: stall.HostSteal, Scope: stall.ScopeMachine, Evidence: every},
		{Start: 30, End: 40, CPU: 3, Cause: stall.HostSuspended, Scope: stall.ScopeMachine, Evidence: slept},
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

// TestEarlyLossIsCounted: what comes before there is a file and finds no room is
// among what did not get into it.
func TestEarlyLossIsCounted(t *testing.T) {
	r := &recorder{probes: []recording.Probe{{ID: 1}}}
	for range recording.MaxPending + 2 {
		r.gap(jitterprobe.Gap{Start: 1, End: 2})
	}
	for range recording.MaxPending + 3 {
		r.add(recording.Suspension{})
	}
	gaps, records := r.early.take()
	if len(gaps) != recording.MaxPending || len(records) != recording.MaxPending {
		t.Errorf("%d gaps and %d records are kept, want %d of each", len(gaps), len(records), recording.MaxPending)
	}
	path := filepath.Join(t.TempDir(), "x.rec")
	var err error
	if r.file, err = recording.Create(path, recording.Environment{}); err != nil {
		t.Fatal(err)
	}
	if err := r.close(jitterprobe.Snapshot{}, 1); err != nil {
		t.Fatal(err)
	}
	var unrecorded []uint64
	for _, record := range readAll(t, path) {
		if s, ok := record.(recording.Status); ok {
			unrecorded = append(unrecorded, s.Unrecorded)
		}
	}
	if diff := cmp.Diff([]uint64{5}, unrecorded); diff != "" {
		t.Errorf("unrecorded (-want +got):\n%s", diff)
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

// TestDoctorOfWhoIsFoundLater: of a process that is watched by its name the doctor
// is asked when it is found, once.
func TestDoctorOfWhoIsFoundLater(t *testing.T) {
	probe, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic})
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Stop()
	path := filepath.Join(t.TempDir(), "x.rec")
	file, err := recording.Create(path, recording.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{file: file, probe: probe, log: slog.New(slog.DiscardHandler), probes: []recording.Probe{{ID: 1}}}
	r.add(recording.Target{ID: 1, PID: os.Getpid()})
	r.add(recording.Target{ID: 2, PID: 1})
	if err := r.close(probe.Snapshot(), 1); err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, record := range readAll(t, path) {
		if d, ok := record.(recording.Doctor); ok {
			answers = append(answers, string(d.RawMessage))
		}
	}
	if want := fmt.Sprintf("/proc/%d/task", os.Getpid()); len(answers) != 1 || !strings.Contains(answers[0], want) {
		t.Errorf("%d answers of the doctor, want one that looked at %s", len(answers), want)
	}
}
