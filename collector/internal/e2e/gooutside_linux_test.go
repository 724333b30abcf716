package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/semconv"
)

const outsideService = "e2e-outside"

// TestGoOutside: of two replicas of a Go service that knows nothing of otelgc, each in a
// container of its own, one is made to stop. Its spans that were stopped for 1 ms carry it,
// and no other span does. The truth comes from the service's own execution trace, read by
// Go's own tool; a trace that lies is found out.
func TestGoOutside(t *testing.T) {
	const (
		enough = 30 // stops
		rounds = 30 // of a trace each, at most
	)
	n := newTiers(t, long)
	replicas := [2]*replica{n.startReplica(t, "pod-that-stops"), n.startReplica(t, "pod-that-does-not")}
	stopped := replicas[0]
	sidecar := n.agent.watch(t, "grpc", "off", "--mode", "periodic", "--target", stopped.name, "--pprof", "auto", "--json")
	all := append(n.running[:], sidecar, stopped.process, replicas[1].process)
	watched(t, sidecar, all...)
	for _, r := range replicas {
		n.hearOf(t, r, all...)
		r.load(t, 4)
	}
	stopped.stopOften(t)

	var truths [2][]truth
	for long := 0; long < enough; {
		if len(truths[0]) == rounds {
			t.Fatalf("%d stops of %v, want %d", long, hit, enough)
		}
		var both sync.WaitGroup
		for i, r := range replicas {
			both.Go(func() { truths[i] = append(truths[i], r.trace(t)) })
		}
		both.Wait()
		if t.Failed() {
			return
		}
		long += truths[0][len(truths[0])-1].long()
	}
	asked := int64(0)
	for _, r := range replicas {
		r.quiet()
		asked += r.answers.Load()
	}
	eventually(t, "all spans", func() error {
		if got := len(n.of(outsideService)); int64(got) < asked {
			return fmt.Errorf("%d of %d", got, asked)
		}
		return nil
	}, all...)
	sidecar.end(t)

	spans := n.of(outsideService)
	for i, r := range replicas {
		v := r.judge(spans, truths[i], t.Logf)
		t.Logf("%s: %d spans in %d traces, %d stopped for %v or more, %d carry it: %v of %v", r.pod, v.judged, len(truths[i]), v.hits, hit, v.carried, v.charged, v.stopped)
		if !v.right() || (v.hits > 0) != (r == stopped) {
			t.Errorf("%s: %+v, want that 99 %% of the hits carry it, and nothing foreign or without a route", r.pod, v)
		}
	}
	for name, lie := range map[string][]truth{
		"that there were none": moved(truths[0], -1<<40), "another time": moved(truths[0], 20*time.Millisecond), "another's": truths[1],
	} {
		if v := stopped.judge(spans, lie, func(string, ...any) {}); v.right() {
			t.Errorf("an oracle that lies, %s, is believed: %+v", name, v)
		}
	}
	stopped.sawStops(t, sidecar, truths[0])
	for _, r := range replicas {
		r.end(t)
	}
	n.stop(t)
}

// hit is from which length on a stop is looked for in the spans, and much that of another's
// would show.
const (
	hit  = time.Millisecond
	much = hit / 2
)

// verdict is how the spans of a replica compare with what is said to be true.
type verdict struct {
	judged        int // spans within a trace
	hits, carried int // that were stopped for long, and of these those that carry it
	foreign       int // that carry more than their own process stopped
	nameless      int // that have no route

	stopped, charged time.Duration // of those that carry it
}

// right reports whether enough spans carry their stops, and none those of others.
func (v verdict) right() bool {
	return v.judged > 0 && 100*v.carried >= 99*v.hits && 2*v.charged >= v.stopped && v.foreign == 0 && v.nameless == 0
}

// judge compares the spans of a replica with what is said to be true, and tells of those
// that are not so.
func (r *replica) judge(spans map[string]delivered, truths []truth, tell func(string, ...any)) (v verdict) {
	for id, s := range spans {
		if s.pod != r.pod {
			continue
		}
		if s.route == "" {
			v.nameless++
		}
		for i := range truths {
			if !truths[i].holds(s.wallSpan) {
				continue
			}
			v.judged++
			sure, most := truths[i].overlap(s.wallSpan)
			charged := time.Duration(1e9 * (s.shares["otelgc.stall.gc.pause"] + s.shares["otelgc.stall.runtime.suspension"]))
			wrong := charged > most+much
			if wrong {
				v.foreign++
			}
			if sure >= hit {
				v.hits++
				if charged >= much {
					v.carried++
					v.stopped, v.charged = v.stopped+sure, v.charged+charged
				} else {
					wrong = true
				}
			}
			if wrong {
				tell("%s: span %s of %v has %v, and was stopped for %v to %v", r.pod, id, time.Duration(s.end-s.start), s.shares, sure, most)
			}
		}
	}
	return v
}

// sawStops: what run --json says of the replica has the stops of the traces.
func (r *replica) sawStops(t *testing.T, sidecar *process, truths []truth) {
	t.Helper()
	var got struct {
		Targets []struct {
			PID                     int
			Service, Runtime, Doors string
			FirstIndex              uint64 `json:"first_index"`
			LastIndex               uint64 `json:"last_index"`
			Collections             struct{ Total uint64 }
			PauseTotal              int64 `json:"pause_total"`
			PauseMax                int64 `json:"pause_max"`
			Suspensions             uint64
			Watched                 int64
		}
	}
	sidecar.document(t, &got)
	stops := uint64(0)
	for i := range truths {
		stops += uint64(len(truths[i].stops))
	}
	for _, g := range got.Targets {
		if g.PID != r.cmd.Process.Pid {
			continue
		}
		if g.Service != outsideService || !strings.HasPrefix(g.Runtime, "go1.") || g.Doors != "probes" && g.Doors != "both" ||
			g.Suspensions+2*g.Collections.Total < stops || g.LastIndex-g.FirstIndex+1 != g.Collections.Total ||
			g.PauseMax == 0 || g.PauseMax > g.PauseTotal || g.Watched == 0 {
			t.Errorf("target %+v, want %s with %d stops or more", g, outsideService, stops)
		}
		return
	}
	t.Errorf("targets %+v, none is process %d", got.Targets, r.cmd.Process.Pid)
}

// watched waits until the sidecar probes both replicas, and skips where it may not.
func watched(t *testing.T, sidecar *process, ps ...*process) {
	t.Helper()
	eventually(t, "the sidecar at both replicas", func() error {
		said := sidecar.output()
		if _, why, not := strings.Cut(said, "seen in slices of its trace alone"); not {
			why, _, _ = strings.Cut(why, "\n")
			t.Skipf("skipped: Go processes cannot be probed here:%s", why)
		}
		if strings.Count(said, "watching a Go process") < 2 {
			return errors.New("it is not attached")
		}
		return nil
	}, ps...)
}

// replica is a process of examples/go-outside.
type replica struct {
	*process
	pod, url, debug string
	answers         atomic.Int64
	asked           context.Context // until no more is asked for
	stopAsking      func()
	asking          sync.WaitGroup
}

// startReplica starts one in a container of its own. It shares the network, so that it is
// reached.
func (n *tiers) startReplica(t *testing.T, pod string) *replica {
	t.Helper()
	contain := newContainer(t)
	env := append(n.agent.senderEnv(outsideService, "http/protobuf", "off"),
		"GOGC=100", "OTEL_BSP_MAX_QUEUE_SIZE=100000", "OTEL_RESOURCE_ATTRIBUTES=k8s.pod.uid="+pod+",k8s.container.name=main")
	r := &replica{pod: pod}
	r.asked, r.stopAsking = context.WithCancel(context.Background())
	r.process = startAs(t, func(c *exec.Cmd) {
		contain(c)
		c.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	}, env, programs(t).outside, "-addr", "127.0.0.1:0", "-pprof", "127.0.0.1:0", "-workers", "3000")
	t.Cleanup(r.quiet)
	eventually(t, "the addresses of the service", func() error {
		all := listening.FindAllStringSubmatch(r.output(), -1)
		if len(all) < 2 {
			return errors.New("it has not said where it listens")
		}
		r.url, r.debug = "http://"+all[0][1], "http://"+all[1][1]+"/debug/pprof/"
		return nil
	}, r.process)
	return r
}

// hearOf waits until the gateways know that a replica is watched.
func (n *tiers) hearOf(t *testing.T, r *replica, ps ...*process) {
	t.Helper()
	eventually(t, "a status of "+r.pod, func() error {
		for _, e := range n.place().events() {
			if e.name == semconv.EventSourceStatus && e.resource["k8s.pod.uid"] == r.pod {
				return nil
			}
		}
		return errors.New("none came")
	}, ps...)
}

// quiet ends all that asks it.
func (r *replica) quiet() { r.stopAsking(); r.asking.Wait() }

// again calls f until quiet is called, or it fails.
func (r *replica) again(t *testing.T, f func(i int) error) {
	r.asking.Go(func() {
		for i := 0; r.asked.Err() == nil; i++ {
			if err := f(i); err != nil {
				t.Error(err)
				return
			}
		}
	})
}

// load keeps so many requests under way.
func (r *replica) load(t *testing.T, clients int) {
	c := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for range clients {
		r.again(t, func(i int) error {
			path := "/orders/7"
			if i%10 == 0 {
				path = "/orders"
			}
			_, err := getBy(c, r.url+path)
			if err == nil {
				r.answers.Add(1)
			}
			return err
		})
	}
}

// stopOften asks for the stacks of all goroutines: they are thousands, and stand still
// while megabytes are written of them.
func (r *replica) stopOften(t *testing.T) {
	r.again(t, func(int) error {
		_, err := get(r.debug + "goroutine?debug=2")
		time.Sleep(50 * time.Millisecond)
		return err
	})
}
