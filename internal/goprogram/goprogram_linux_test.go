package goprogram

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/otelgc/otelgc/internal/proc"
)

// sleeper is set for this program when it is the process that others look at.
const sleeper = "OTELGC_TEST_SLEEPER"

func TestMain(m *testing.M) {
	if os.Getenv(sleeper) != "" {
		_, _ = os.Stdout.WriteString("up\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		return
	}
	os.Exit(m.Run())
}

// start starts a program that waits until the test ends, and says when it is there.
func start(t *testing.T, env []string, name string, args ...string) int {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = env
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this program: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait() // how it ends is nothing to this test
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid
}

// TestRead looks at a process of this program, whose file has been removed.
func TestRead(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "orders")
	if err := os.WriteFile(program, self, 0o700); err != nil {
		t.Fatal(err)
	}
	pid := start(t, []string{sleeper + "=1", "GOGC=50", "SECRET=x", "GODEBUG=gctrace=0"}, program)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	p, err := Read(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	if p.EnvErr != nil {
		t.Fatal(p.EnvErr)
	}
	release, experiment, _ := strings.Cut(runtime.Version(), " X:")
	got := []string{p.Version, p.Experiment, p.Module, p.Settings["GOARCH"]}
	if diff := cmp.Diff([]string{release, experiment, "github.com/otelgc/otelgc", runtime.GOARCH}, got); diff != "" {
		t.Errorf("version, experiment, module, GOARCH (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"GOGC": "50", "GODEBUG": "gctrace=0"}, p.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	cpus, err := proc.CPUs(os.DirFS("/"), strconv.Itoa(pid))
	if err != nil || len(cpus) != runtime.NumCPU() {
		t.Errorf("CPUs: got %v, %v, want those of this process, %d", cpus, err, runtime.NumCPU())
	}
}

func TestReadOther(t *testing.T) {
	pid := start(t, nil, "/bin/sh", "-c", "echo up; read x")
	if p, err := Read(os.DirFS("/"), pid); !errors.Is(err, ErrNotGo) {
		t.Errorf("a shell: got %+v, %v, want %v", p, err, ErrNotGo)
	}
	if p, err := Read(os.DirFS("/"), 1<<30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nobody: got %+v, %v, want %v", p, err, fs.ErrNotExist)
	}
}

// TestProcsOfThisProcess holds the rule to the runtime that made it.
func TestProcsOfThisProcess(t *testing.T) {
	root, pid := os.DirFS("/"), os.Getpid()
	p, err := Read(root, pid)
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := proc.CPUs(root, "self")
	if err != nil {
		t.Fatal(err)
	}
	quota, err := Quota(root, "self")
	if err != nil {
		t.Skipf("the quota of this process: %v", err)
	}
	if strings.Contains(strings.Join(os.Args, " "), "-test.cpu") {
		t.Skip("-test.cpu sets GOMAXPROCS")
	}
	if got, want := p.Procs(len(cpus), quota), runtime.GOMAXPROCS(0); got != want {
		t.Errorf("GOMAXPROCS: got %d of CPUs %v and quota %v, the runtime has %d", got, cpus, quota, want)
	}
}
