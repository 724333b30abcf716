package target

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// TestGroupOf asks the kernel: of real processes, and of what /proc says of one in a
// container.
func TestGroupOf(t *testing.T) {
	var proc dotnetipc.Proc
	own := groupOf(proc, dotnetipc.Identity{PID: os.Getpid()})
	if own == unseenGroup || own == "" {
		t.Errorf("this process is of %q", own)
	}
	if got := groupOf(proc, dotnetipc.Identity{PID: os.Getppid()}); got == unseenGroup {
		t.Errorf("its parent is of %q", got)
	}
	if got := groupOf(proc, dotnetipc.Identity{}); got != unseenGroup {
		t.Errorf("a process that cannot be seen is of %q", got)
	}
	root := t.TempDir()
	const id = "7be92808767a667f35c8505cbf40d14e931ef6db5b0210329cf193b15ba9d605"
	for pid, cgroup := range map[string]string{"5": "0::/\n", "6": "0::/system.slice/docker-" + id + ".scope\n"} {
		dir := filepath.Join(root, pid)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"cgroup": cgroup, "status": "Name:\tx\nUid:\t1654\t0\t0\t0\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for pid, want := range map[int]string{5: "user 1654", 6: "container " + id, 7: unseenGroup} {
		if got := groupOf(dotnetipc.Proc{Root: root}, dotnetipc.Identity{PID: pid}); got != want {
			t.Errorf("process %d: got %q, want %q", pid, got, want)
		}
	}
}

// TestGroupOfUser: another user is another group, where none of them is in a
// container.
func TestGroupOfUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	c := exec.Command("sleep", "60")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	if err := c.Start(); err != nil {
		t.Skipf("no process of another user: %v", err)
	}
	defer func() { _, _ = c.Process.Kill(), c.Wait() }()
	own, other := groupOf(dotnetipc.Proc{}, dotnetipc.Identity{PID: os.Getpid()}), groupOf(dotnetipc.Proc{}, dotnetipc.Identity{PID: c.Process.Pid})
	if own == fmt.Sprintf("user %d", os.Getuid()) && other != "user "+strconv.Itoa(54321) {
		t.Errorf("got %q and %q, want two users", own, other)
	}
}
