package hostile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/race"
)

// The test's binary plays several roles, each in a process of its own.
const (
	roleVariable  = "OTELGC_HOSTILE_ROLE"
	dirVariable   = "OTELGC_HOSTILE_DIR"   // where the role works
	groupVariable = "OTELGC_HOSTILE_GROUP" // the cgroup of the tests
	enterVariable = "OTELGC_HOSTILE_ENTER" // a cgroup to enter before all else
	lieVariable   = "OTELGC_HOSTILE_LIE"
	holdVariable  = "OTELGC_HOSTILE_HOLD" // a number of sockets

	roleTests  = "tests"  // runs the tests, in namespaces of its own
	roleLiar   = "liar"   // tells a lie
	roleHolder = "holder" // holds sockets
)

// The world that the tests run in; missing says why there is none.
var (
	missing string
	work    string // a tmpfs of our own
	disk    string // a directory on disk: what a process writes there is no memory of its cgroup
	groups  string // a cgroup of our own, for memory
	sidecar string // the binary
	liarExe string // this program, where any user can execute it
)

func TestMain(m *testing.M) {
	if os.Getenv(enterVariable) != "" {
		exit(enter())
	}
	switch os.Getenv(roleVariable) {
	case roleLiar:
		exit(tellLie())
	case roleHolder:
		exit(holdSockets())
	case roleTests:
		os.Exit(inside(m))
	}
	os.Exit(outside(m))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// outside runs the tests in a PID and a mount namespace of their own: they see no
// .NET process of anybody else, nobody else sees theirs, and whatever happens
// nothing of them is left.
func outside(m *testing.M) int {
	if race.Enabled {
		fmt.Println("skipped: all that these tests do is run a binary that is built without the race detector")
		return 0
	}
	if os.Geteuid() != 0 {
		missing = "needs root, for namespaces, users and a memory cgroup"
		return m.Run()
	}
	group, remove, err := newGroups()
	if err != nil {
		missing = fmt.Sprintf("needs a memory cgroup: %v", err)
		return m.Run()
	}
	defer remove()
	sweep(os.TempDir())
	dir := filepath.Join(os.TempDir(), ownName()) // short: there will be sockets in it
	if err := os.Mkdir(dir, 0o755); err != nil {
		missing = err.Error()
		return m.Run()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	runtime.LockOSThread() // Pdeathsig is sent when the thread ends
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleTests, dirVariable+"="+dir, groupVariable+"="+group)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		missing = fmt.Sprintf("needs CAP_SYS_ADMIN, for namespaces of its own: %v", err)
		return m.Run()
	}
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		fmt.Fprintln(os.Stderr, err)
	}
	return max(cmd.ProcessState.ExitCode(), -cmd.ProcessState.ExitCode()) // -1: killed
}

// inside is process 1: its end is the end of all that it started.
func inside(m *testing.M) int {
	disk, groups = os.Getenv(dirVariable), os.Getenv(groupVariable)
	for _, name := range []string{roleVariable, dirVariable, groupVariable} {
		_ = os.Unsetenv(name)
	}
	if err := prepare(); err != nil {
		if errors.Is(err, unix.EPERM) {
			missing = err.Error()
			return m.Run()
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func prepare() error {
	work = filepath.Join(disk, "w")
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
		data           string
	}{
		{"none", "/", "", unix.MS_REC | unix.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", 0, ""},
		{"tmpfs", work, "tmpfs", 0, "mode=755,nr_inodes=1000000"},
	} {
		if err := unix.Mount(m.from, m.to, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.to, err)
		}
	}
	if err := os.Setenv("TMPDIR", work); err != nil {
		return err
	}
	sidecar = filepath.Join(work, "otelgc-sidecar")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", sidecar, "github.com/otelgc/otelgc/sidecar")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build sidecar: %w\n%s", err, out)
	}
	liarExe = filepath.Join(work, "liar")
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(liarExe, program, 0o755)
}
