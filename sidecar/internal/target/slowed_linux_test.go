package target

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// slowedRig is a process on one CPU whose threads are followed, and that has
// collected often enough for its usual pause to be known.
type slowedRig struct {
	*rig
	pid, cpu int
	watch    *hostwatch.Watch
	induce   func() (stop func())
}

func newSlowedRig(t *testing.T) slowedRig {
	t.Helper()
	server := dotnettest.Start(t, dotnettest.Options{})
	client := dotnetipc.NewClient(located(t, server.PID()))
	client.Timeout = time.Minute
	server.Initialize()
	s := slowedRig{pid: server.PID(), cpu: pin(t, server.PID()), induce: func() func() { return induce(t, client) }}

	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	w, err := hostwatch.New(hostwatch.Options{PID: s.pid, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for err := error(nil); err == nil; _, err = w.Next(context.Background()) {
		}
	}()
	t.Cleanup(func() { _ = w.Close() }) // it may have ended with the process
	if ok, why := w.Exact(); !ok {
		t.Skipf("the scheduler cannot be followed here: %v", why)
	}
	s.watch = w
	s.rig = newRig(t, Options{Selector: selector(t, strconv.Itoa(s.pid)), Followed: w})
	s.await("watching a .NET process", 1)
	stop := s.induce()
	if !s.until(func(e otlptest.Log) bool { return number(e, semconv.AttrPauseUsual) > 0 }) {
		t.Fatalf("the usual length of a pause is not known of %d collections", len(s.events(semconv.EventCollection)))
	}
	stop()
	return s
}

// pin puts all threads of a process on the last CPU that this one may use.
func pin(t *testing.T, pid int) (cpu int) {
	t.Helper()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for i := range 1024 {
		if all.IsSet(i) {
			cpu = i
		}
	}
	one.Set(cpu)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.SchedSetaffinity(tid, &one) // it may have ended
	}
	return cpu
}

// until waits for an event of a collection, and reports whether it came.
func (s slowedRig) until(is func(otlptest.Log) bool) bool {
	s.t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, e := range s.events(semconv.EventCollection) {
			if integer(e, semconv.AttrProcessPID) == int64(s.pid) && is(e) {
				return true
			}
		}
	}
	return false
}

// untilSlowed waits for a collection that is called slowed. The kernel keeps the
// pages of a program that others run too, so that there is less than a page to wait
// for in each collection; and of a process that waits for CPUs more than half of the
// time, waiting for pages makes few pauses long.
func (s slowedRig) untilSlowed(by string) {
	s.t.Helper()
	begin, waited, faults, collections := time.Now(), runDelay(s.t, s.pid), s.watch.Totals().MajorFaults, len(s.events(semconv.EventCollection))
	if s.until(func(e otlptest.Log) bool { return text(e.GetAttributes(), semconv.AttrSlowedBy) == by }) {
		return
	}
	took := time.Since(begin)
	waited, faults = runDelay(s.t, s.pid)-waited, s.watch.Totals().MajorFaults-faults
	collections = len(s.events(semconv.EventCollection)) - collections
	switch said := fmt.Sprintf("no collection of %d slowed by %s: the process waited %v for CPUs in %v, and had %d major faults",
		collections, by, waited, took, faults); {
	case by == "paging" && (faults < uint64(collections) || 2*waited > took):
		s.t.Skip("skipped: " + said)
	default:
		s.t.Fatal(said)
	}
}

func number(l otlptest.Log, key string) float64 {
	return otlptest.Attribute(l.GetAttributes(), key).GetDoubleValue()
}

// spin keeps the CPU busy with a few threads until ctx ends.
func spin(ctx context.Context, cpu int) {
	var work sync.WaitGroup
	defer work.Wait()
	for range 3 {
		work.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			var one unix.CPUSet
			one.Set(cpu)
			_ = unix.SchedSetaffinity(0, &one) // without it the test finds nothing, and fails
			for ctx.Err() == nil {
			}
		})
	}
}

// TestAzmcpSlowed lets strangers have the CPU of a process, then takes the pages
// of its program from it: its long pauses are called stolen CPU, and paging, and
// each that is has the evidence with it.
func TestAzmcpSlowed(t *testing.T) {
	s := newSlowedRig(t)
	defer func() {
		for _, e := range s.events(semconv.EventCollection) {
			checkSlowed(t, e)
		}
	}()
	for _, test := range []struct {
		by     string
		inject func(context.Context)
	}{
		{"stolen_cpu", func(ctx context.Context) { spin(ctx, s.cpu) }},
		{"paging", func(ctx context.Context) { evict(ctx, t, s.pid) }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { test.inject(ctx) })
		stop := s.induce()
		s.untilSlowed(test.by)
		stop()
		cancel()
		work.Wait()
	}
}

// checkSlowed holds what a collection is said to be slowed by to the rule.
func checkSlowed(t *testing.T, e otlptest.Log) {
	t.Helper()
	by := text(e.GetAttributes(), semconv.AttrSlowedBy)
	if by == "" {
		return
	}
	total := func(key string) (sum time.Duration) {
		for _, v := range integers(e, key) {
			sum += time.Duration(v)
		}
		return sum
	}
	paused := total(semconv.AttrPauseEnd) - total(semconv.AttrPauseStart)
	usual := time.Duration(number(e, semconv.AttrPauseUsual) * 1e9)
	cpu, page := total(semconv.AttrPauseHostPrefix+"cpu_wait"), total(semconv.AttrPauseHostPrefix+"page_wait")
	t.Logf("collection %d: %s: paused %v, usual %v, without a CPU %v, without a page %v, run delay %v, faults %v",
		integer(e, semconv.AttrGCIndex), by, paused, usual, cpu, page,
		total(semconv.AttrPauseHostPrefix+"run_delay"), integers(e, semconv.AttrPauseHostPrefix+"major_faults"))
	if cpu+page > paused+time.Microsecond || paused < 2*usual || cpu+page < (paused-usual)/2 || (by == "paging") != (page > cpu) {
		t.Errorf("collection %d is called %s", integer(e, semconv.AttrGCIndex), by)
	}
}
