package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/board"
)

// TestProbeOnACPUThatIsNotAllowed: its CPU exists, and the affinity of the
// process leaves it out.
func TestProbeOnACPUThatIsNotAllowed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for cpu := range 1024 {
		if before.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	if len(cpus) < 2 {
		t.Skip("skipped: one CPU: none can be left out")
	}
	one.Set(cpus[0])
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			t.Error(err)
		}
	}()
	stdout, stderr, code := sidecar(t, nil, "probe", "--cpu", fmt.Sprint(cpus[1])) // starts on this thread
	want := fmt.Sprintf("otelgc-sidecar: probe: probe cpu %d: not allowed (allowed: %d)\n", cpus[1], cpus[0])
	if code != 2 || stdout != "" || stderr != want {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 2 and %q", code, stdout, stderr, want)
	}
}

// TestRunOnABoardThatIsNone: a file that is no board is left as it is.
func TestRunOnABoardThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board")
	const text = "these are my notes, keep them\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := sidecar(t, []string{"OTEL_SDK_DISABLED=true"}, "run", "--mode", "periodic", "--board", path, "--duration", "1s")
	if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, path) || !strings.Contains(stderr, board.ErrForeign.Error()) {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 2 and one line that %s is foreign", code, stdout, stderr, path)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the file holds %q (%v), want what it held", got, err)
	}
}

// TestRunOnABoardThatNobodyBelieves: others may write its directory.
func TestRunOnABoardThatNobodyBelieves(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := sidecar(t, []string{"OTEL_SDK_DISABLED=true"}, "run", "--mode", "periodic", "--board", filepath.Join(dir, "board"), "--duration", "1s")
	if want := "directory " + dir + " (mode 0777): chmod go-w\n"; code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, want) {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 2 and one line that ends in %q", code, stdout, stderr, want)
	}
}

// TestRunOnWhatIsNotThere fails before anything starts, in one line.
func TestRunOnWhatIsNotThere(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none", "x.rec")
	for want, args := range map[string][]string{
		"--target 4194305: no such process":                              {"--target", "4194305"},
		"--record " + none + ": no such file or directory: name a file":  {"--record", none},
		"--record " + binary + ": file already exists: name another, or": {"--record", binary},
	} {
		stdout, stderr, code := sidecar(t, []string{"OTEL_SDK_DISABLED=true"}, append([]string{"run", "--board", "off", "--duration", "1s"}, args...)...)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit %d, stdout %q, stderr %q, want exit 2 and one line with %q", args, code, stdout, stderr, want)
		}
	}
}

// TestRecordOnAFullDisk: the run goes on, says when the recording ended, and
// fails.
func TestRecordOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("skipped: no small disk to be had: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(dir, "x.rec")
	stdout, stderr, code := sidecar(t, []string{"OTEL_SDK_DISABLED=true"},
		"run", "--mode", "periodic", "--board", "off", "--record", path, "--duration", "2s", "--json")
	want := "otelgc-sidecar: run: the recording is not whole: write recording: write " + path + ": no space left on device\n"
	if code != 1 || !strings.HasPrefix(stdout, "{") || !strings.HasSuffix(stderr, want) || !strings.Contains(stderr, "the recording ends here") {
		t.Errorf("exit %d, stdout %.40q, stderr %q, want exit 1, a document, and %q", code, stdout, stderr, want)
	}
}

// TestRunWithoutTheRight to write its board fails if the board was asked for, in
// one line.
func TestRunWithoutTheRight(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: not root: cannot become another user")
	}
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil { // so that anybody can run it
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "board")
	cmd := exec.CommandContext(t.Context(), binary, "run", "--mode", "periodic", "--board", path, "--duration", "1s")
	cmd.Env = append(os.Environ(), "OTEL_SDK_DISABLED=true")
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("run: %v, want exit 1: %s", err, stderr.String())
	}
	if text := stderr.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "permission denied") || stdout.Len() > 0 {
		t.Errorf("stdout %q, stderr %q, want one line that permission was denied", stdout.String(), stderr.String())
	}
}

// TestReportThatWaits: a file that never ends is given up at the first signal.
func TestReportThatWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r := startSidecar(t, nil, "report", path)
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0) // returns when the report reads
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pipe.Close() }()
	err = r.end(syscall.SIGTERM)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, want by SIGTERM", err)
	}
}

// TestRecordWithoutTheRight fails before anything starts, in one line.
func TestRecordWithoutTheRight(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY, ""); err != nil {
		t.Skipf("skipped: no read-only disk to be had: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(dir, "x.rec")
	stdout, stderr, code := sidecar(t, nil, "run", "--board=off", "--mode=periodic", "--duration=1s", "--record", path)
	want := "otelgc-sidecar: run: --record " + path + ": read-only file system: name a file in a directory that this user may write to\n"
	if code != 2 || stdout != "" || stderr != want {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 2 and %q", code, stdout, stderr, want)
	}
}

// TestRunThatCannotListen says so in one line behind its log, and does not wait for a
// Collector that is not there.
func TestRunThatCannotListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(path, []byte("these are my notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "x.rec")
	stdout, stderr, code := sidecar(t, withoutCollector, "run", "--board=off", "--mode=periodic", "--duration=1s", "--listen-diagnostics", path, "--record", record)
	if code != 1 || stdout != "" || !strings.Contains(stderr, path+" is there and no socket of a former run") || strings.Contains(stderr, "msg=done") || strings.Contains(stderr, "exported") {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 1 and what is wrong with %s alone", code, stdout, stderr, path)
	}
	if _, err := os.Lstat(record); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the recording of a run that never began: %v, want none", err)
	}
}

// TestTargetThatWaitsForItsParent is none.
func TestTargetThatWaitsForItsParent(t *testing.T) {
	dead := exec.CommandContext(t.Context(), "/bin/true")
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dead.Wait() }() // only now
	pid := dead.Process.Pid
	var state unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &state, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := sidecar(t, nil, "run", "--board=off", "--duration=1s", "--target", fmt.Sprint(pid))
	want := fmt.Sprintf("otelgc-sidecar: run: --target %d: no such process: it has ended, and waits for its parent: read /proc/%d/stat: give the PID of a running process, the name of a program, or auto\n", pid, pid)
	if code != 2 || stderr != want {
		t.Errorf("exit %d, stderr %q, want exit 2 and %q", code, stderr, want)
	}
}
