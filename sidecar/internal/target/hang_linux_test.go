package target

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/hungcall"
)

// TestStopBesideOneThatHangs: a process whose file system never answers holds up
// neither the end nor the looks for others.
func TestStopBesideOneThatHangs(t *testing.T) {
	fuse, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("open /dev/fuse: %v", err)
	}
	dead := t.TempDir()
	// Nobody ever reads what the kernel asks for.
	if err := unix.Mount("dead", dead, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse)); err != nil {
		_ = unix.Close(fuse)
		t.Skipf("mount a file system of FUSE: %v", err)
	}
	t.Cleanup(func() {
		_ = unix.Close(fuse) // which ends what hangs
		_ = unix.Unmount(dead, unix.MNT_DETACH)
	})
	const pid, created = 7, 123456
	root := t.TempDir()
	fakeProcess(t, root, pid, "shop", "shop\x00")
	dir := filepath.Join(root, strconv.Itoa(pid))
	for name, text := range map[string]string{
		"stat":     fmt.Sprintf("%d (shop) S %s%d 0 0\n", pid, strings.Repeat("1 ", 18), created),
		"status":   fmt.Sprintf("NSpid:\t%d\n", pid),
		"environ":  "TMPDIR=" + dead + "/tmp\x00",
		"net/unix": fmt.Sprintf("0: 2 0 00010000 0001 01 1 /tmp/dotnet-diagnostic-%d-%d-socket\n", pid, created),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "ns"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"ns/net": "net:[1]", "root": "/", "exe": dead + "/shop"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	calls := new(hungcall.Limiter)
	r := newRig(t, Options{Selector: selector(t, "auto"), Proc: dotnetipc.Proc{Root: root, Calls: calls}})
	r.await("the kernel waits for what does not answer", 1)
	stopped := make(chan []Summary)
	go func() { stopped <- r.stop() }()
	select {
	case all := <-stopped:
		if len(all) != 1 || !strings.Contains(all[0].Why, hungcall.ErrHangs.Error()) {
			t.Errorf("got %+v, want one process, and why it was not watched", all)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("it does not end")
	}
	if n := calls.Left(); n != 1 {
		t.Errorf("%d calls were left hanging, want 1", n)
	}
}
