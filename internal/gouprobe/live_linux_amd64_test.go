package gouprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// rounds of the target's work: two collections each, one of them forced. The ring has
	// room for all of their stops.
	rounds = 125
	works  = 4
)

// TestReleases holds what is seen of real processes of each release against what
// their runtime says of itself.
func TestReleases(t *testing.T) {
	for _, toolchain := range toolchains {
		t.Run(toolchain, func(t *testing.T) {
			p := start(t, build(t, toolchain))
			p.ask("stats")
			s := attachTo(t, p.pid())
			wait := follow(t, s)
			before := p.ask("stats")
			p.ask("trace 3")
			var after answer
			for range works {
				after = p.ask(fmt.Sprint("work ", rounds))
				drained(t, s)
			}
			all := stop(t, s, wait)
			all.check(t, s, before, after, 1)

			// Before, trace and work end with a reading. The end of a trace is no stop.
			want := map[string]int{
				"read mem stats": works*(rounds+1) + 2, "GOMAXPROCS": 2 * works * rounds, "all goroutines stack trace": works * rounds,
				"goroutine profile": works * rounds, "goroutine profile cleanup": works * rounds, "start trace": 3,
			}
			if toolchain == "go1.22.12" { // which stops to see how many there are
				want["goroutine profile"] *= 2
			}
			delete(all.reasons, reasonName(markTermination)) // check has counted them
			delete(all.reasons, reasonName(sweepTermination))
			if diff := cmp.Diff(want, all.reasons); diff != "" {
				t.Errorf("reasons of other stops (-want +got):\n%s", diff)
			}
		})
	}
}

// drained returns when the ring was read after now.
func drained(t *testing.T, s *Source) {
	t.Helper()
	now := s.clock.Now().Sub(s.begun)
	for limit := time.Now().Add(time.Minute); s.Status().Observed < now; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("nothing is observed")
		}
	}
}

// check holds collections against the runtime's own figures. So many are of before the
// first of them.
func (all *seen) check(t *testing.T, s *Source, before, after answer, earlier int) {
	t.Helper()
	if got, want := len(all.collections), int(after.Collections-before.Collections)+earlier; got != want {
		t.Fatalf("collections: got %d, the runtime counts %d", got, want)
	}
	for i, b := range all.batches[1:] {
		if a := all.batches[i]; b.Watermark < a.Watermark || b.Epoch != a.Epoch || len(b.Unseen) > 0 {
			t.Errorf("batch %+v after %+v", b, a)
		}
	}
	if all.lost > 0 {
		t.Errorf("%d stops were lost", all.lost)
	}
	var sum time.Duration
	pauses := 0
	for i, c := range all.collections {
		if c.Index != uint64(i+1) || c.Cycles != 1 || c.Kind != gc.Background || c.Origin != stall.GoUprobe {
			t.Fatalf("collection %d: got %+v", i, c)
		}
		n := len(c.Pauses)
		if i == 0 && all.midst && c.Incomplete == "its begin was not seen" {
			pauses += n
			continue
		}
		if c.Incomplete != "" || n < 2 || c.Pauses[0].Phase != gc.SweepTermination || c.Start.Or(0) != c.Pauses[0].Start || c.End.Or(0) != c.Pauses[n-1].End {
			t.Errorf("collection %d is not whole: %+v", i, c)
		}
		for k, p := range c.Pauses {
			if k > 0 && (p.Phase != gc.MarkTermination || p.Start < c.Pauses[k-1].End) {
				t.Errorf("collection %d, pause %d: %+v", i, k, p)
			}
			if d, known := p.Suspend.Get(); known != s.stops.release.stopping || d < 0 || d > p.Duration() {
				t.Errorf("collection %d, pause %d: it took %v, %v of %v to stop", i, k, d, known, p.Duration())
			}
		}
		if i >= earlier {
			sum += c.PauseTotal()
		}
		pauses += n
	}
	if want := time.Duration(after.Pause - before.Pause); sum != want {
		t.Errorf("pauses: got %v, the runtime says %v", sum, want)
	}
	var last stall.Instant
	of := map[uint64]int{}
	for _, v := range all.intervals {
		if v.Start < last || v.Origin != stall.GoUprobe || (v.Cause == stall.GCPause) != (v.Ref != 0) {
			t.Errorf("interval %+v, after one that ended at %d", v, last)
		}
		last = v.End
		if v.Ref != 0 {
			of[v.Ref]++
		}
	}
	for _, c := range all.collections {
		if of[c.Index] != len(c.Pauses) {
			t.Errorf("collection %d: %d intervals of %d pauses", c.Index, of[c.Index], len(c.Pauses))
		}
	}
	t.Logf("%d collections, %d pauses, %v; %v", len(all.collections), pauses, sum, all.reasons)
}

// TestStoppedThroughout: with GODEBUG=gcstoptheworld=1 a collection has its pauses, and
// is of another kind.
func TestStoppedThroughout(t *testing.T) {
	p := start(t, build(t, "local"), withEnv("GODEBUG=gcstoptheworld=1"))
	s := attachTo(t, p.pid())
	wait := follow(t, s)
	before := p.ask("stats")
	after := p.ask("work 20")
	all := stop(t, s, wait)
	if got, want := len(all.collections), int(after.Collections-before.Collections)+1; got != want {
		t.Fatalf("collections: got %d, the runtime counts %d", got, want)
	}
	var sum time.Duration
	for i, c := range all.collections {
		if c.Kind != gc.FullBlocking || c.Incomplete != "" {
			t.Errorf("got %+v, want it whole, and full and blocking", c)
		}
		if i > 0 {
			sum += c.PauseTotal()
		}
	}
	if want := time.Duration(after.Pause - before.Pause); sum != want {
		t.Errorf("pauses: got %v, the runtime says %v", sum, want)
	}
}

// TestLoss: what finds no room is counted and its time is unseen, and what comes after
// counts from another beginning.
func TestLoss(t *testing.T) {
	p := start(t, build(t, "local"))
	s := attachTo(t, p.pid())
	ctx := context.Background()
	first, err := s.Next(ctx)
	if err != nil || first.Lost.Count > 0 {
		t.Fatalf("got %+v, %v", first, err)
	}
	began, epoch := first.Watermark, first.Epoch
	const most = 100
	storms, stops := 0, 0
	for ; storms < most && s.probes.count(t) == 0; storms++ {
		stops += p.ask("storm 300").Sum + 1 // the answer stops once, and collects
	}
	if storms == most {
		t.Skip("the ring did not overflow: the machine is too busy")
	}
	now := s.clock.Now()
	b, err := s.Next(ctx) // so that there is room again
	if err != nil {
		t.Fatal(err)
	}
	all := &seen{reasons: map[string]int{}}
	all.add(s, b)
	wait := followOn(t, s, all)
	p.ask("stats")
	stop(t, s, wait)
	unseen := []stall.Span(nil)
	for _, b := range all.batches {
		unseen = append(unseen, b.Unseen...)
	}
	if all.lost == 0 || uint64(len(all.intervals))+all.lost < uint64(stops) {
		t.Errorf("%d stops were seen and %d lost, of at least %d", len(all.intervals), all.lost, stops)
	}
	unseen = stall.Union(unseen)
	if len(unseen) != 1 || unseen[0].Start > began || unseen[0].End < now {
		t.Errorf("unseen: got %v, want it from %d to %d", unseen, began, now)
	}
	last := all.batches[len(all.batches)-1].Epoch
	if all.batches[0].Epoch != epoch || last != epoch+1 {
		t.Errorf("epochs: got %d to %d, want %d to the next", all.batches[0].Epoch, last, epoch)
	}
	if n := len(all.collections); n == 0 || all.collections[n-1].Index > 20 || all.collections[n-1].Incomplete != "" {
		t.Errorf("the last collection is not counted from the loss: %+v", all.collections[n-1])
	}
	if c := s.Status().Coverage; c >= 1 {
		t.Errorf("coverage: got %v", c)
	}
	t.Logf("%d seen, %d lost; coverage %.3f", len(all.intervals), all.lost, s.Status().Coverage)
}

// count returns how many records were lost.
func (p *probes) count(t *testing.T) uint64 {
	t.Helper()
	var n uint64
	if err := p.drops.Lookup(uint32(0), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOpenAtTheEnd: the pauses of a collection that goes on when the watch ends are told.
func TestOpenAtTheEnd(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	s := &Source{clock: clock, over: true, records: []record{sweep(10, 20)}}
	b := s.yield()
	if len(b.Collections) != 1 || len(b.Collections[0].Pauses) != 1 || b.Collections[0].Incomplete != "it was not watched to its end" {
		t.Errorf("got %+v, want a collection with one pause, and why it is not whole", b.Collections)
	}
}

// TestEnd: a source is over when its process is, or executes another program.
func TestEnd(t *testing.T) {
	exe := build(t, "local")
	for name, end := range map[string]func(p *targetProcess){
		"it ends":     func(p *targetProcess) { _ = p.cmd.Process.Kill() },
		"it executes": func(p *targetProcess) { p.tell("exec"); p.line("ready") },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, exe)
			s := attachTo(t, p.pid())
			wait := follow(t, s)
			p.ask("work 5")
			drained(t, s)
			end(p)
			all := wait()
			if len(all.collections) < 10 {
				t.Errorf("%d collections, want at least 10", len(all.collections))
			}
			if _, err := s.Next(context.Background()); err != io.EOF {
				t.Errorf("got %v, want io.EOF", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRefused: the error says in one line what is not watched, and why.
func TestRefused(t *testing.T) {
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait() // killed
	}()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]error{
		sleep.Process.Pid: goprogram.ErrNotGo, ended.Process.Pid: ErrEnded, -1: ErrEnded, 0: ErrEnded, 1 << 30: ErrEnded,
	} {
		s, err := Attach(Options{PID: pid, Clock: clock(t)})
		if !errors.Is(err, want) {
			t.Errorf("process %d: got %v, %v, want %v", pid, s, err, want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("process %d: %q is more than a line", pid, err)
		}
	}
}

// TestOtherTime: the stops of a process whose clock shows another time are on ours.
func TestOtherTime(t *testing.T) {
	exe := build(t, "local")
	if err := exec.Command("unshare", "--time", "--monotonic", "1000", "--fork", "true").Run(); err != nil {
		t.Skipf("cannot make a time namespace: %v", err)
	}
	q := start(t, exe, func(c *exec.Cmd) {
		unshare, err := exec.LookPath("unshare")
		if err != nil {
			t.Fatal(err)
		}
		c.Path, c.Args = unshare, []string{unshare, "--time", "--monotonic", "1000", exe}
	})
	s := attachTo(t, q.pid())
	wait := follow(t, s)
	begin := clock(t).Now()
	q.ask("work 3")
	end := clock(t).Now()
	got := stop(t, s, wait)
	if len(got.collections) == 0 || got.lost > 0 {
		t.Fatalf("%d collections, %d lost", len(got.collections), got.lost)
	}
	for _, v := range got.intervals {
		if v.Start < begin || v.End > end {
			t.Errorf("a stop from %v to %v, want between %v and %v", v.Start, v.End, begin, end)
		}
	}
}
