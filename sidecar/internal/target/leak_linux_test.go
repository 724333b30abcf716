package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
)

// noFileLeak waits until the process has about as many files open as before: it
// may have opened some of its own meanwhile, not one for every session.
func noFileLeak(t *testing.T, server *dotnettest.Server, before int) {
	t.Helper()
	const spare = 8
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		n := openFiles(t, server.PID())
		if n <= before+spare {
			t.Logf("%d files are open, %d were before", n, before)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d files are open, %d were before", n, before)
		}
		server.List(0) // an event to send, for a session whose client is gone
	}
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// noLeak waits until the process has no more sessions than most: each is a
// thread of its own, and one whose client is gone ends when it next has an
// event to send.
func noLeak(t *testing.T, server *dotnettest.Server, most int) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; {
		server.List(0) // allocates, so collects
		n := sessionThreads(t, server.PID())
		if n <= most {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d sessions are left", n)
		}
	}
}

func sessionThreads(t *testing.T, pid int) (n int) {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // the thread ended
		}
		if strings.TrimSpace(string(comm)) == ".NET EventPipe" {
			n++
		}
	}
	return n
}
