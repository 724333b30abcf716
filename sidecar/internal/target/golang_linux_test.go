package target

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gouprobe"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// needProbes skips where no Go program can be watched, as without rights.
func needProbes(t *testing.T) {
	t.Helper()
	if err := gouprobe.Supported(); errors.Is(err, fs.ErrPermission) || errors.Is(err, stall.ErrNotSupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// goTarget is a program that collects as it is told to, and links nothing of ours.
type goTarget struct {
	*exec.Cmd
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

// goAnswer is what its runtime says of itself.
type goAnswer struct {
	Collections uint32
	Pause       int64
}

// buildTarget compiles the program under a name.
func buildTarget(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"main.go", "exec.go"} {
		text, err := os.ReadFile("../../../internal/gouprobe/testdata/target/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/"+name+"\n\ngo 1.22\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", name, ".")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return filepath.Join(dir, name)
}

// startTarget starts a program, which ends with the test.
func startTarget(t *testing.T, cmd *exec.Cmd) *goTarget {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := &goTarget{cmd, t, in, bufio.NewReader(out)}
	t.Cleanup(g.end)
	if line, err := g.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	return g
}

func (g *goTarget) end() {
	_ = g.in.Close()
	_, _ = io.Copy(io.Discard, g.out)
	_ = g.Wait() // how it ends is nothing to this test
}

// say sends a command and returns the answer.
func (g *goTarget) say(command string) (a goAnswer) {
	g.t.Helper()
	if _, err := fmt.Fprintln(g.in, command); err != nil {
		g.t.Fatal(err)
	}
	line, err := g.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		g.t.Fatalf("%q: %v", line, err)
	}
	return a
}

// TestGoProcess watches a Go program from before its first collection to its end: what is
// summed up, exported and recorded is what the runtime counted.
func TestGoProcess(t *testing.T) {
	needProbes(t)
	cmd := exec.Command(buildTarget(t, "shop"))
	cmd.Env = []string{"GOGC=50", "OTEL_SERVICE_NAME=orders", "OTEL_RESOURCE_ATTRIBUTES=team=red,service.instance.id=one", "TOKEN=secret", "OTELGC_LINE=secret"}
	target := startTarget(t, cmd)
	pid := target.Process.Pid
	var told records
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(pid)), Record: told.add})
	r.await("watching a Go process", 1)
	want := target.say("work 3") // fewer events than may go out in a second
	target.end()
	r.await("no longer watched", 1)
	all := r.stop()
	if len(all) != 1 {
		t.Fatalf("summaries %+v, want one", all)
	}
	s := all[0]
	release, _, _ := strings.Cut(runtime.Version(), " ")
	got := Summary{
		PID: s.PID, Service: s.Service, CommandLine: s.CommandLine, Runtime: s.Runtime, Source: s.Source, Doors: s.Doors, Sessions: s.Sessions,
		FirstIndex: s.FirstIndex, LastIndex: s.LastIndex, Collections: s.Collections, PauseTotal: s.PauseTotal, Lost: s.Lost, Late: s.Late, Why: s.Why,
	}
	n := uint64(want.Collections)
	wanted := Summary{
		PID: pid, Service: "orders", CommandLine: cmd.Path, Runtime: release, Source: "gouprobe", Doors: Probes, Sessions: 1, FirstIndex: 1, LastIndex: n,
		Collections: Counts{Total: n, Kinds: map[string]uint64{"background": n}, Generations: map[string]uint64{}},
		PauseTotal:  want.Pause, Why: "the process ended",
	}
	if diff := cmp.Diff(wanted, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if s.Suspensions < 15 || s.SuspensionSum <= 0 || s.SuspendTotal <= 0 || s.PauseMax <= 0 || s.Watched <= 0 {
		t.Errorf("summary %+v, want other stops, the time to stop, and a time that was watched", s)
	}

	var pauses int64
	events := r.events(semconv.EventCollection)
	for _, e := range events {
		starts, ends := integers(e, semconv.AttrPauseStart), integers(e, semconv.AttrPauseEnd)
		for i := range starts {
			pauses += ends[i] - starts[i]
		}
		if got := text(e.GetAttributes(), semconv.AttrSource); got != "gouprobe" {
			t.Errorf("an event of source %q, want gouprobe", got)
		}
		if got := strings.Join([]string{e.Resource["service.name"], e.Resource["team"], e.Resource["service.instance.id"], e.Resource["process.runtime.name"]}, " "); got != "orders red one go" {
			t.Errorf("an event of %q", got)
		}
	}
	if len(events) != int(n) || pauses != want.Pause {
		t.Errorf("events: %d collections with pauses of %d ns, want %d and %d", len(events), pauses, n, want.Pause)
	}
	if len(r.events(semconv.EventSourceStatus)) == 0 || len(r.events(semconv.EventSuspension)) == 0 {
		t.Error("no status, or no suspension")
	}
	if r.metric("otelgc.gc.pause.duration") == nil || r.metric("otelgc.suspension.duration") == nil || r.metric("dotnet.gc.collections") != nil || r.metric("go.memory.gc.cycles") != nil {
		t.Error("metrics: want those of pauses and suspensions, and none that only .NET or the program itself has")
	}

	kinds, facts := told.summary()
	if kinds.collections != int(n) || kinds.suspensions != int(s.Suspensions) || kinds.statuses == 0 {
		t.Errorf("recorded %+v, want %d collections and %d suspensions", kinds, n, s.Suspensions)
	}
	if facts["version"] != release || facts["GOGC"] != "50 as started" || facts["GOMEMLIMIT"] != "off as started" {
		t.Errorf("runtime line %v, want %s with GOGC 50", facts, release)
	}
	if strings.Contains(fmt.Sprint(facts, r.log), "secret") {
		t.Error("a variable of the environment is told that configures nothing")
	}
}

// TestGoProcessTwice: two sidecars at one program are not in each other's way: both see what
// its runtime counts.
func TestGoProcessTwice(t *testing.T) {
	needProbes(t)
	target := startTarget(t, exec.Command(buildTarget(t, "shop")))
	pid := selector(t, strconv.Itoa(target.Process.Pid))
	two := []*rig{newRig(t, Options{Selector: pid}), newRig(t, Options{Selector: pid})}
	for _, r := range two {
		r.await("watching a Go process", 1)
	}
	want := target.say("work 3")
	target.end()
	for _, r := range two {
		r.await("no longer watched", 1)
		all := r.stop()
		if len(all) != 1 || all[0].Collections.Total != uint64(want.Collections) || all[0].PauseTotal != want.Pause || all[0].Doors != Probes {
			t.Errorf("summaries %+v, want all of %+v", all, want)
		}
	}
}

// records counts what is recorded.
type records struct{ targets }

// recorded is how much of each kind there was.
type recorded struct{ collections, suspensions, statuses int }

func (r *records) add(o recording.Record) {
	r.targets.add(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, o)
}

func (r *records) summary() (n recorded, facts map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.all {
		switch v := o.(type) {
		case recording.Collection:
			n.collections++
		case recording.Suspension:
			n.suspensions++
		case recording.Status:
			if v.Source == "gouprobe" {
				n.statuses++
			}
		case recording.Target:
			facts = v.Facts
		}
	}
	return n, facts
}

// TestGoProcessOverRestarts: a process that is named by its number, started again, is the
// same target to a reader; in a container it has the number that it has there; one that executes itself again goes on.
func TestGoProcessOverRestarts(t *testing.T) {
	needProbes(t)
	path := buildTarget(t, "shop")
	first := startTarget(t, exec.Command(path))
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(first.Process.Pid))})
	r.await("watching a Go process", 1)
	if _, err := fmt.Fprintln(first.in, "exec"); err != nil {
		t.Fatal(err)
	}
	if line, err := first.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	r.await("watching a Go process", 2)
	want := first.say("work 3")
	first.end()
	r.await("no longer watched", 1)
	second := startTarget(t, exec.Command(path))
	r.await("watching a Go process", 3)
	again := second.say("work 2")
	second.end()
	r.await("no longer watched", 2)
	all := r.stop()
	if len(all) != 2 || all[0].Sessions != 2 || all[0].Collections.Total != uint64(want.Collections) || all[0].PauseTotal != want.Pause ||
		all[1].PID != second.Process.Pid || all[1].Collections.Total != uint64(again.Collections) {
		t.Errorf("summaries %+v, want %+v in two sessions, then %+v", all, want, again)
	}
}

// TestGoProcessByName finds a program in PID namespace of its own, as in a container.
func TestGoProcessByName(t *testing.T) {
	needProbes(t)
	if err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run(); err != nil {
		t.Skip("unshare: ", err)
	}
	path := buildTarget(t, "basket")
	r := newRig(t, Options{Selector: selector(t, "basket")})
	target := startTarget(t, exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", path))
	r.await("watching a Go process", 1)
	want := target.say("work 3")
	target.end()
	r.await("no longer watched", 1)
	all := r.stop()
	if len(all) != 1 || all[0].LastIndex == 0 || all[0].LastIndex > uint64(want.Collections) || all[0].PID == target.Process.Pid {
		t.Errorf("summaries %+v, want that of the program, not that of unshare, with up to %d collections", all, want.Collections)
	}
	for _, e := range r.events(semconv.EventCollection) {
		if got := e.Resource[semconv.AttrProcessPID]; got != "int_value:1" {
			t.Errorf("the program has the number %s, want that of its own namespace", got)
		}
	}
}

// TestGoProgramThatCannotBeWatched: one line says why, the recording has it, and the rest
// is watched.
func TestGoProgramThatCannotBeWatched(t *testing.T) {
	needProbes(t)
	shop := unknownRelease(t, buildTarget(t, "shop"))
	target := startTarget(t, exec.Command(shop))
	var told records
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(target.Process.Pid)), Record: told.add})
	r.await("collections are not watched", 1)
	time.Sleep(3 * time.Second) // three more attaches, which say nothing new
	all := r.stop()
	const why = "go1.99"
	if got, _ := told.last(); got.Runtime != "go" || !strings.Contains(got.Unwatched, why) || len(got.Facts) == 0 {
		t.Errorf("recorded %+v, want a Go program that cannot be watched", got)
	}
	if len(all) != 1 || !strings.Contains(all[0].Why, why) || all[0].Sessions != 0 || all[0].Service != "shop" {
		t.Errorf("summaries %+v, want why it is not watched", all)
	}
	if n := strings.Count(r.log.String(), why); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, r.log)
	}
}

// unknownRelease makes a program say that it is of a release of Go that is not known.
func unknownRelease(t *testing.T, exe string) string {
	t.Helper()
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	unknown := []byte("go1.99" + strings.Repeat(".0", 8))[:len(runtime.Version())]
	copied := filepath.Join(t.TempDir(), filepath.Base(exe))
	if err := os.WriteFile(copied, bytes.ReplaceAll(program, []byte(runtime.Version()), unknown), 0o700); err != nil {
		t.Fatal(err)
	}
	return copied
}

// TestInstrumentedGoProgramByName: one that links otelgc exports its collections itself, so
// that they are recorded and summed up here, and not exported once more.
func TestInstrumentedGoProgramByName(t *testing.T) {
	needProbes(t)
	pid, in := waits(t, []string{goSleeper + "=1"}, "/proc/self/exe")
	var told records
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(pid)), Record: told.add})
	r.await("is recorded and shown, and not exported", 1)
	if _, err := io.WriteString(in, "\n\n\n"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		kinds, _ := told.summary()
		if kinds.collections == 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("recorded %+v, want 3 collections:\n%s", kinds, r.log)
		}
	}
	if s := r.stop()[0]; s.Collections.Total != 3 {
		t.Errorf("%d collections, want 3", s.Collections.Total)
	}
	if n := len(r.events(semconv.EventCollection)); n > 0 || r.metric(semconv.MetricPauseDuration) != nil {
		t.Errorf("%d events, or a metric of pauses, want that nothing is exported", n)
	}
}

// TestAutoFindsGoPrograms: each is watched that links nothing of ours, and this process,
// which does, is not.
func TestAutoFindsGoPrograms(t *testing.T) {
	needProbes(t)
	target := startTarget(t, exec.Command(buildTarget(t, "shop")))
	instrumented, _ := waits(t, []string{goSleeper + "=1"}, "/proc/self/exe")
	r := newRig(t, Options{Selector: selector(t, "auto")})
	r.await(fmt.Sprintf("watching a Go process\" pid=%d", target.Process.Pid), 1)
	r.await(fmt.Sprintf("it links otelgc, which exports its collections\" pid=%d", instrumented), 1)
	want := target.say("work 3")
	if err := target.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	target.end()
	r.await(fmt.Sprintf("no longer watched\" pid=%d", target.Process.Pid), 1)
	found := false
	for _, s := range r.stop() {
		switch s.PID {
		case target.Process.Pid:
			found = s.Collections.Total == uint64(want.Collections) && s.PauseTotal == want.Pause
		case os.Getpid(), instrumented:
			t.Errorf("this program is watched: %+v", s)
		}
	}
	if !found {
		t.Errorf("the program is not watched as it says: %+v", want)
	}
}
