package hostile

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// honest is a real .NET process, and a witness that has a session of its own with
// it: which collections it made is known without the sidecar.
type honest struct {
	*dotnettest.Server
	t *testing.T

	mu             sync.Mutex
	begun, over    map[int64]stall.Instant // collections, by number
	watched, until stall.Instant           // when it was watched for certain
}

func startHonest(t *testing.T, more ...string) *honest {
	t.Helper()
	env := append([]string{
		"OTEL_SERVICE_NAME=honest", "OTEL_RESOURCE_ATTRIBUTES=service.instance.id=" + honestInstance, "DOTNET_GCgen0size=40000",
	}, more...)
	h := &honest{Server: dotnettest.Start(t, dotnettest.Options{Env: env}), t: t, begun: map[int64]stall.Instant{}, over: map[int64]stall.Instant{}}
	var session *dotnetipc.Session
	for end := time.Now().Add(*patience); session == nil; time.Sleep(time.Millisecond) {
		e, err := dotnetipc.Proc{}.Locate(t.Context(), h.PID())
		if err == nil {
			client := dotnetipc.NewClient(e)
			client.Timeout = *patience
			session, err = client.Collect(t.Context(), dotnetipc.Request{Providers: []dotnetipc.Provider{{
				Name: dotnetgc.Provider, Keywords: dotnetgc.Keywords, Level: dotnetgc.Level, Events: []uint32{idGCStart, idGCEnd},
			}}})
		}
		if err != nil && time.Now().After(end) {
			t.Fatal(err)
		}
	}
	var work sync.WaitGroup
	work.Go(func() { h.witness(session) })
	t.Cleanup(func() {
		_ = session.Close()
		work.Wait()
	})
	return h
}

// The events that bear witness.
const (
	idGCStart = 1
	idGCEnd   = 2
)

func (h *honest) witness(s *dotnetipc.Session) {
	r, err := nettrace.NewReader(quiet{s}, nettrace.Options{})
	if err != nil {
		h.t.Errorf("witness: %v", err)
		return
	}
	for {
		e, err := r.Next()
		var late interface{ Timeout() bool }
		if errors.As(err, &late) && late.Timeout() {
			continue
		}
		if err != nil {
			return // the process or the test is over
		}
		if e.IsLoss() {
			h.t.Errorf("witness: %d events are lost", e.Lost)
		}
		if e.Provider != dotnetgc.Provider || len(e.Payload) < 4 {
			continue
		}
		number, at := int64(binary.LittleEndian.Uint32(e.Payload)), r.Header().Frequency.Instant(e.Ticks)
		h.mu.Lock()
		switch e.ID {
		case idGCStart:
			h.begun[number] = at
		case idGCEnd:
			h.over[number] = at
		}
		h.mu.Unlock()
	}
}

// quiet gives up a read after a while: the reader then hands out what it holds.
type quiet struct{ s *dotnetipc.Session }

func (q quiet) Read(b []byte) (int, error) {
	if err := q.s.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		return 0, io.EOF
	}
	return q.s.Read(b)
}

// work makes the process collect some forty times, and on as long as more says
// that there is something to wait for. All of it is while the process is watched.
func (h *honest) work(r *running, more func() bool) {
	h.t.Helper()
	h.watched = stall.Instant(now())
	h.Initialize()
	for end := time.Now().Add(*patience); (h.seen() < 40 || more()) && !r.ended() && time.Now().Before(end); {
		// Some three collections, at most eighty a second: of more than a hundred
		// events of a second the shortest are not exported.
		h.List(0)
		h.List(1_000_000)
		time.Sleep(50 * time.Millisecond)
	}
	h.until = stall.Instant(now())
}

// seen is how many collections the witness has seen.
func (h *honest) seen() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.begun)
}

// collections returns the numbers of all that began while the process was watched
// for certain. The process goes on to collect until the witness has seen them all.
func (h *honest) collections() (all []int64) {
	h.t.Helper()
	for end := time.Now().Add(*patience); ; h.List(0) {
		h.mu.Lock()
		all = all[:0]
		open, later := 0, false
		for number, at := range h.begun {
			if at > h.until {
				later = true
			} else if at >= h.watched {
				all = append(all, number)
				if _, over := h.over[number]; !over {
					open++
				}
			}
		}
		h.mu.Unlock()
		if later && open == 0 {
			return all
		}
		if time.Now().After(end) {
			h.t.Fatalf("%d of %d collections have no end, a later one was seen: %v", open, len(all), later)
		}
	}
}

// exported returns the numbers of the collections that r received of h, and how
// often.
func (h *honest) exported(r *otlptest.Receiver) map[int64]int {
	all := make(map[int64]int)
	for _, l := range r.Logs() {
		if l.GetEventName() == semconv.EventCollection && pidOf(l.Resource) == h.PID() {
			all[integer(l, semconv.AttrGCIndex)]++
		}
	}
	return all
}
