package dotnetipc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

func background(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func gcEvents() dotnetipc.Request {
	return dotnetipc.Request{Providers: []dotnetipc.Provider{{
		Name: "Microsoft-Windows-DotNETRuntime", Keywords: 1, Level: 4,
		Events: []uint32{1, 2, 3, 4, 7, 8, 9, 204, 205},
	}}}
}

// locate waits until a process that has just started listens: its socket is
// there a moment before.
func locate(t *testing.T, pid int) dotnetipc.Endpoint {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		e, err := dotnetipc.Proc{}.Locate(t.Context(), pid)
		if err == nil {
			_, err = client(e).ProcessInfo(t.Context())
		}
		if err == nil {
			return e
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func client(e dotnetipc.Endpoint) *dotnetipc.Client {
	c := dotnetipc.NewClient(e)
	c.Timeout = 3 * time.Minute // the machine may be busy
	return c
}

func contains(all []dotnetipc.Identity, one dotnetipc.Identity) bool {
	for _, id := range all {
		if id == one {
			return true
		}
	}
	return false
}

// runOut takes every session that there is. The next one gets an error that
// says so, and the process answers all the same.
func runOut(t *testing.T, c *dotnetipc.Client) {
	ctx := background(t)
	var sessions []*dotnetipc.Session
	defer func() {
		for _, s := range sessions {
			_ = s.Close()
		}
	}()
	for {
		s, err := c.Collect(ctx, gcEvents())
		if err == nil {
			if sessions = append(sessions, s); len(sessions) <= dotnetipc.MaxSessions {
				continue
			}
			t.Fatalf("%d sessions at once", len(sessions))
		}
		if errors.Is(err, dotnetipc.ErrBusy) && len(sessions) < dotnetipc.MaxSessions && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
			continue // the end of one that was stopped is still under way
		}
		if !errors.Is(err, dotnetipc.ErrBusy) || len(sessions) != dotnetipc.MaxSessions {
			t.Errorf("after %d sessions: got %v, want ErrBusy after %d", len(sessions), err, dotnetipc.MaxSessions)
		}
		break
	}
	if _, err := c.ProcessInfo(ctx); err != nil {
		t.Errorf("with all sessions in use: %v", err)
	}
}

// child waits for the only child of pid to have become azmcp.
func child(t *testing.T, pid int) int {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		found, err := dotnetipc.Proc{}.Runtimes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range found {
			if parent(t, id.PID) == pid {
				return id.PID
			}
		}
	}
	t.Fatalf("no child of %d has a runtime", pid)
	return 0
}

// parent returns the parent of pid, 0 if it ended.
func parent(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "PPid:")
	var n int
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
