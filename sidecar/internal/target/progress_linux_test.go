package target

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/recording"
)

// TestProgress: how far each process was watched is told while it is, under the ID of its
// records; why one is not, and which waits for a place; and that it is over, once and last.
func TestProgress(t *testing.T) {
	var mu sync.Mutex
	told := map[int][]Progress{} // by PID
	recorded := map[int]int{}    // stops, by ID
	r := newRig(t, Options{
		Progress: func(v Progress) {
			mu.Lock()
			defer mu.Unlock()
			told[v.PID] = append(told[v.PID], v)
		},
		Record: func(o recording.Record) {
			mu.Lock()
			defer mu.Unlock()
			if s, is := o.(recording.Suspension); is {
				recorded[s.Target]++
			}
		},
	})
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			mu.Lock()
			ok := is()
			mu.Unlock()
			if ok {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("not told: %s", what)
			}
		}
	}
	last := func(pid int) Progress {
		if list := told[pid]; len(list) > 0 {
			return list[len(list)-1]
		}
		return Progress{}
	}
	r.targets = 2
	ctx, cancel := context.WithCancel(t.Context())
	stop := r.Watcher.cancel
	r.Watcher.cancel = func() { cancel(); stop() }
	begin := func(pid int) bool {
		p := newProcess(r.o, dotnetipc.Identity{})
		p.ID = dotnetipc.Identity{PID: pid, Created: uint64(pid)}
		p.summary.PID, p.Group, p.summary.group = pid, "shop", "shop"
		p.Connect = func(context.Context) (*dotnetipc.Client, error) { return nil, dotnetipc.ErrNoSocket }
		p.Gone = func(error) bool { return false }
		return r.begin(ctx, p, func() {})
	}

	var stops atomic.Uint64
	r.follow(newFakeRuntime(t, &fakeRuntime{stream: r.honestStream(&stops)}), 1001, "shop")
	until("that it is watched", func() bool {
		v := last(1001)
		return v.Sessions == 1 && v.Suspensions > 0 && v.Watched > 0 && v.Why == "" && !v.Over && recorded[v.ID] > 0
	})
	if !begin(1002) {
		t.Fatal("the second process has no place")
	}
	until("why it is not watched", func() bool { return strings.Contains(last(1002).Why, dotnetipc.ErrNoSocket.Error()) })
	if begin(1003) {
		t.Fatal("the third process has a place")
	}
	until("that it waits", func() bool { v := last(1003); return v.ID == 0 && v.Why == "not watched: 2 other processes are" })
	r.stop()
	mu.Lock()
	defer mu.Unlock()
	for pid, list := range told {
		for i, v := range list {
			if want := pid != 1003 && i == len(list)-1; v.Over != want || v.ID != list[0].ID {
				t.Errorf("process %d, %d of %d: over is %v, ID %d, want %v and %d", pid, i+1, len(list), v.Over, v.ID, want, list[0].ID)
			}
		}
	}
	if a, b := last(1001), last(1002); a.ID == b.ID || a.ID == 0 || b.ID == 0 {
		t.Errorf("IDs %d and %d", a.ID, b.ID)
	}
}
