package target

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
)

// endsSoon fails if the watcher does not end, for which it has a few seconds: a
// minute is for a machine without CPU time.
func (r *rig) endsSoon() []Summary {
	r.t.Helper()
	done := make(chan []Summary, 1)
	go func() { done <- r.stop() }()
	select {
	case s := <-done:
		return s
	case <-time.After(time.Minute):
		r.t.Fatal("the watcher does not end")
		return nil
	}
}

// TestGreedy: a process whose stream takes more memory, or more work, than there is
// is detached, which is counted and said; it is tried again later. One beside it
// loses nothing.
func TestGreedy(t *testing.T) {
	for name, c := range map[string]struct {
		payload int
		set     func(b *dotnet.Budget)
		why     string
	}{
		"memory": {10_000, func(b *dotnet.Budget) { b.Memory, b.Work = 2<<20, 1e18 }, "MiB that all event streams may hold"},
		"work":   {10, func(b *dotnet.Budget) { b.Work = float64(200 * time.Millisecond) }, "CPUs that all event streams may take"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			c.set(r.budget)
			var stops atomic.Uint64
			r.follow(newFakeRuntime(t, &fakeRuntime{stream: r.honestStream(&stops)}), 1001, "shop")
			greedy := newFakeRuntime(t, &fakeRuntime{stream: r.floodStream(c.payload)})
			r.follow(greedy, 1002, "fake")
			for end := time.Now().Add(time.Minute); greedy.sessions.Load() < 3; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the greedy process was not tried again:\n%s", r.log)
				}
			}
			all := r.endsSoon()
			honest, fake := all[0], all[1]
			if honest.PID != 1001 {
				honest, fake = fake, honest
			}
			if honest.Detached != 0 || honest.Sessions != 1 || honest.Lost != 0 || honest.Suspensions == 0 || honest.Suspensions > stops.Load() {
				t.Errorf("the honest process: got %+v, want what it sent, in one session", honest)
			}
			if fake.Detached < 2 || !strings.Contains(fake.DetachedWhy, c.why) || fake.Unseen <= 0 {
				t.Errorf("the greedy process: got %+v, want it detached, and its time unseen", fake)
			}
			if n := strings.Count(r.log.String(), "collections are not watched"); n != 1 {
				t.Errorf("said %d times that it is detached, want once:\n%s", n, r.log)
			}
			counted := int64(0)
			for _, m := range r.receiver.Metrics() {
				if m.GetName() != semconv.MetricDropped {
					continue
				}
				for _, p := range m.GetSum().GetDataPoints() {
					if text(p.GetAttributes(), semconv.AttrItem) == "dotnet_session" && text(p.GetAttributes(), semconv.AttrErrorType) == "limit" {
						counted = max(counted, p.GetAsInt())
					}
				}
			}
			if counted != int64(fake.Detached) {
				t.Errorf("%s of dotnet_session: got %d, want %d", semconv.MetricDropped, counted, fake.Detached)
			}
		})
	}
}

// TestStopOfEndless: neither a stream that goes on, nor one whose header never comes
// to its end, keeps the watcher from its own.
func TestStopOfEndless(t *testing.T) {
	for name, f := range map[string]func(r *rig) *fakeRuntime{
		"a stream that goes on": func(r *rig) *fakeRuntime {
			return &fakeRuntime{stream: r.floodStream(10), stubborn: true}
		},
		"a header of a byte in a while": func(r *rig) *fakeRuntime {
			// A trace block of format 6 may have thousands of pairs.
			return &fakeRuntime{stubborn: true, stream: func(conn io.Writer, _ <-chan struct{}) {
				head := append([]byte("Nettrace"), 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1)
				_, err := conn.Write(head)
				for err == nil {
					time.Sleep(50 * time.Millisecond)
					_, err = conn.Write([]byte{0})
				}
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			r.budget.Work = 1e18 // it is not detached
			runtime := newFakeRuntime(t, f(r))
			r.follow(runtime, 1001, "fake")
			if name == "a stream that goes on" {
				r.await("watching a .NET process", 1)
			}
			for end := time.Now().Add(time.Minute); runtime.sessions.Load() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("no session was begun:\n%s", r.log)
				}
			}
			r.endsSoon()
		})
	}
}
