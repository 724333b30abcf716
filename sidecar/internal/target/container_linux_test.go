package target

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/semconv"
)

// TestAzmcpContainer puts a real process into a cgroup as Docker names it: its
// telemetry says so.
func TestAzmcpContainer(t *testing.T) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d", os.Getpid()))
	id := hex.EncodeToString(sum[:])
	dir := containerCgroup(t, id)
	server := dotnettest.Start(t, dotnettest.Options{})
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(server.PID())), 0); err != nil {
		t.Skipf("a process cannot be put into a cgroup here: %v", err)
	}
	located(t, server.PID())
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(server.PID()))})
	r.await("watching a .NET process", 1)
	r.stop()
	server.Kill() // it is in the cgroup
	statuses := r.events(semconv.EventSourceStatus)
	if len(statuses) == 0 {
		t.Fatal("no status was sent")
	}
	for _, e := range statuses {
		if got := e.Resource[attrContainerID]; got != id {
			t.Fatalf("%s of the resource: got %q, want %q", attrContainerID, got, id)
		}
	}
}

// containerCgroup makes a cgroup for a container, in v2 or in the hierarchy pids
// of v1.
func containerCgroup(t *testing.T, id string) string {
	t.Helper()
	root := "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
		root = filepath.Join(root, "pids")
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			t.Skipf("no cgroups are mounted: %v", err)
		}
	}
	parent := filepath.Join(root, fmt.Sprintf("otelgc-test-%d", os.Getpid()))
	dir := filepath.Join(parent, id)
	t.Cleanup(func() { _, _ = os.Remove(dir), os.Remove(parent) })
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Skipf("a cgroup cannot be made here: %v", err)
	}
	return dir
}
