package hostwatch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// follow says whether this process may follow the scheduler.
func follow() {
	c, err := stall.NewClock()
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := New(Options{PID: os.Getpid(), Clock: c})
	if err != nil {
		fmt.Println(err)
		return
	}
	exact, why := w.Exact()
	fmt.Println(exact, w.Close(), why)
}

// TestRights: a user who is not root needs two capabilities to follow threads.
// With fewer of them they are counted, and the watch says why, and guesses nothing.
func TestRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot become another user with capabilities")
	}
	for _, test := range []struct {
		caps []uintptr
		want string
	}{
		{[]uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, "true <nil> <nil>"},
		{[]uintptr{unix.CAP_BPF}, "false <nil> follow "},
		{[]uintptr{unix.CAP_PERFMON}, "false <nil> "},
		{nil, "false <nil> "},
	} {
		cmd := exec.Command("/proc/self/exe") // the binary may lie where nobody may look
		cmd.Env = append(os.Environ(), roleVariable+"=follow")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: test.caps}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("cannot run as another user: %v: %s", err, out)
		}
		if got := strings.TrimSpace(string(out)); !strings.HasPrefix(got, test.want) || strings.HasSuffix(got, "false <nil> <nil>") {
			t.Errorf("capabilities %v: got %q, want %q", test.caps, got, test.want)
		} else if strings.Contains(got, "MEMLOCK") {
			t.Errorf("capabilities %v: %q names a limit that has nothing to do with it", test.caps, got)
		}
	}
}

// TestOtherPIDNamespace: where the kernel has another id for the process, its
// scheduler is not followed. Nothing would be heard of it, and nothing is what a
// machine does that leaves it alone.
func TestOtherPIDNamespace(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"=follow")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("cannot make a PID namespace: %v: %s", err, out)
	}
	if got, want := strings.TrimSpace(string(out)), "false <nil> "+errOtherPIDs.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMayFollow: the kernel accepts the program, or refuses it for lack of rights. It never
// says that the program is wrong.
func TestMayFollow(t *testing.T) {
	err := MayFollow()
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOSYS) {
		t.Errorf("got %v, want none, or a refusal", err)
	}
	t.Logf("loaded: %v", err)
}
