package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/report"
	"github.com/otelgc/otelgc/stall"
)

// TestRecord records a run, and reports on it: the lines are there, and what is
// missing is named.
func TestRecord(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.rec")
	run := []string{"run", "--board=off", "--mode=periodic", "--threshold=100us", "--duration=1500ms", "--record", file, "--workload", "none"}
	if _, stderr, code := sidecar(t, withoutExport, run...); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if end, watched := endOf(t, file); end != watched {
		t.Errorf("the recording ends at %d, and its probe saw up to %d: nobody watched for what is between", end, watched)
	}
	_, stderr, code := sidecar(t, withoutExport, run...)
	if code != 2 || !strings.Contains(stderr, file+": file already exists: name another, or remove it") {
		t.Errorf("a second run into one file: exit %d, %s", code, stderr)
	}

	stdout, stderr, code := sidecar(t, nil, "report", "--warmup=100ms", "--json", file)
	if want := file + ": NOT REPRODUCIBLE: the line \"runtime\" is missing"; code != 3 || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d, stderr %q, want exit 3 and one line with %q", code, stderr, want)
	}
	d := one[report.Report](t, stdout)
	x := d.Experiment
	if x == nil || x.Machine == "" || x.OS == "" || x.Workload != "none" || len(x.Probes) != 1 || x.Probes[0].Mode != "periodic" || !x.Examined {
		t.Fatalf("experiment %+v, want machine, os, workload, probe and the doctor's answers", x)
	}
	if x.Probes[0].Gaps.Observed <= 0 || len(d.Incomplete) > 0 {
		t.Errorf("%v observed, incomplete %+v, want some time and nothing missing", x.Probes[0].Gaps.Observed, d.Incomplete)
	}

	stdout, stderr, code = sidecar(t, nil, "report", file)
	if lasts := regexp.MustCompile(`NOT REPRODUCIBLE: the recording lasts [1-9][0-9ms]*, the warm-up 30m0s`); code != 3 || !lasts.MatchString(stdout) {
		t.Errorf("exit %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
}

// endOf returns where a recording says that it ends, and up to where its last status
// says that its probe saw all.
func endOf(t *testing.T, file string) (end, watched stall.Instant) {
	t.Helper()
	for _, record := range recordsOf(t, file) {
		switch v := record.(type) {
		case recording.Status:
			watched = v.Watermark
		case recording.End:
			end = v.At
		}
	}
	if end == 0 || watched == 0 {
		t.Fatalf("the recording ends at %d, seen up to %d", end, watched)
	}
	return end, watched
}

// recordsOf reads a recording that is whole.
func recordsOf(t *testing.T, file string) (all []recording.Record) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	in, err := recording.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for {
		record, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, record)
	}
}

// TestRecordOfEveryCPU holds to it that the gaps of each probe are recorded as
// its own, with what they were seen against.
func TestRecordOfEveryCPU(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.rec")
	_, stderr, code := sidecar(t, withoutExport, "run", "--board=off", "--mode=periodic",
		"--threshold=1us", "--cpu=0", "--watch-cpus=0-1", "--record", file, "--duration=1500ms")
	if code == 2 && strings.Contains(stderr, "not allowed") {
		t.Skip("needs CPUs 0 and 1")
	}
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	stdout, stderr, code := sidecar(t, nil, "report", "--json", "--warmup=0s", file)
	if code != 3 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	probes := one[report.Report](t, stdout).Experiment.Probes
	if len(probes) != 2 {
		t.Fatalf("probes %+v, want 2", probes)
	}
	for i, p := range probes {
		if p.ID != i+1 || p.CPU != i || p.Mode != "periodic" || p.Inside || p.Gaps.Observed <= 0 {
			t.Errorf("probe %+v, want number %d on CPU %d, and some time observed", p, i+1, i)
		}
	}
	if probes[0].Gaps.Total == 0 {
		t.Error("the first probe was never a microsecond late")
	}
}

// TestRecordSurvivesAKill kills a run. What it saw up to the last second is
// there: on a machine that others keep busy now and then, in one run of some.
func TestRecordSurvivesAKill(t *testing.T) {
	t.Parallel()
	var rhythm, missing time.Duration
	for range 5 {
		if rhythm, missing = killedRun(t); rhythm <= 2*time.Second && missing <= 2500*time.Millisecond {
			return
		}
		t.Logf("flushes came %v after each other at best, and at the last one the file lacked %v", rhythm, missing)
	}
	t.Errorf("flushes come %v after each other at best, and at the last one the file lacks %v, want at most 2s and 2.5s", rhythm, missing)
}

// killedRun kills a run that records, and checks what is in the file. It returns how
// long after each other two flushes came at best, and what of the run the file lacks
// at the last one.
//
// A second of what was seen waits for the next flush at most: what is in the file is
// as old as the last one, and that one comes a second after the one before. Both are
// asked of the file, since a loaded machine kills late.
func killedRun(t *testing.T) (rhythm, missing time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.rec")
	r := startSidecar(t, withoutExport, "run", "--board=off", "--mode=periodic", "--record", file)
	var flushes []os.FileInfo // the file after each
	r.await("three flushes of the recording", func() bool {
		info, err := os.Stat(file)
		if err == nil && (len(flushes) == 0 || info.Size() > flushes[len(flushes)-1].Size()) {
			flushes = append(flushes, info)
		}
		return len(flushes) == 4
	})
	_ = r.end(syscall.SIGKILL) // it was killed
	stdout, stderr, code := sidecar(t, nil, "report", "--json", "--warmup=0s", file)
	if code != 3 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	d := one[report.Report](t, stdout)
	if len(d.Incomplete) != 1 || !strings.Contains(d.Incomplete[0].Why, "cut off") || d.Experiment.Probes[0].Gaps.Observed <= 0 {
		t.Errorf("incomplete %+v, %v observed, want a cut and some time", d.Incomplete, d.Experiment.Probes[0].Gaps.Observed)
	}
	if why := strings.Join(d.Experiment.NotReproducible, "; "); !strings.Contains(why, "the recording has no end") {
		t.Errorf("not reproducible: %s, want that there is no end", why)
	}
	rhythm = time.Hour
	for i := range flushes[1:] {
		rhythm = min(rhythm, flushes[i+1].ModTime().Sub(flushes[i].ModTime()))
	}
	return rhythm, flushes[3].ModTime().Sub(d.Source.Recorded) - d.Source.End.Sub(d.Source.Start)
}
