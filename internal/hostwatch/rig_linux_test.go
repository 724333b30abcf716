package hostwatch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/stall"
)

// roleVariable makes the test binary a target instead of a test.
const roleVariable = "OTELGC_HOSTWATCH_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "spin1":
		spin(1)
	case "spin2":
		spin(2)
	case "toss":
		toss()
	case "nap":
		nap()
	case "page":
		pageIn()
	case "rounds":
		readRounds()
	case "exec":
		execute()
	case "follow":
		follow()
		return
	case "sleep":
		time.Sleep(time.Hour)
	}
	noleak.Main(m)
}

// spin keeps so many threads busy for ever.
func spin(threads int) {
	for range threads {
		go func() {
			runtime.LockOSThread()
			for busy := new(atomic.Uint64); ; {
				busy.Add(1)
			}
		}()
	}
	select {}
}

// toss makes two threads wake each other as fast as they can.
func toss() {
	a, b := make(chan int), make(chan int)
	go func() {
		runtime.LockOSThread()
		for n := range a {
			b <- n
		}
	}()
	runtime.LockOSThread()
	for {
		a <- 1
		<-b
	}
}

// goVariable names a file whose coming a child waits for.
const goVariable = "OTELGC_HOSTWATCH_GO"

// execute waits for a file, and then executes this binary in role sleep on a
// thread that is not the first.
func execute() {
	runtime.LockOSThread() // the first one
	go func() {
		runtime.LockOSThread()
		for {
			if _, err := os.Stat(os.Getenv(goVariable)); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		_ = unix.Exec("/proc/self/exe", os.Args[:1], []string{roleVariable + "=sleep"})
		os.Exit(1)
	}()
	select {}
}

// nap has a hundred threads sleep, each for a second at a time.
func nap() {
	for i := range 100 {
		go func() {
			runtime.LockOSThread()
			for time.Sleep(time.Duration(i) * 10 * time.Millisecond); ; {
				_ = unix.Nanosleep(&unix.Timespec{Sec: 1}, nil) // a signal ends it early
			}
		}()
	}
	select {}
}

// child starts the test binary in a role, on one CPU if that is not negative.
func child(t *testing.T, role string, cpu int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GOMAXPROCS=2")
	cmd.Stderr = os.Stderr
	if err := startOn(cmd, cpu); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed
	})
	return cmd.Process.Pid
}

// startOn starts cmd from a thread that may use one CPU: the child inherits it.
func startOn(cmd *exec.Cmd, cpu int) error {
	if cpu < 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	return errors.Join(cmd.Start(), unix.SchedSetaffinity(0, &before))
}

// lastCPU returns the last CPU that this process may use.
func lastCPU(t *testing.T) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	last := -1
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			last = cpu
		}
	}
	return last
}

// log keeps what a watch says.
type log struct {
	mu      sync.Mutex
	batches []Observations
	more    chan struct{}
	each    func(*Observations)
}

func (l *log) add(b *Observations) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.each != nil {
		l.each(b)
	}
	c := *b
	c.Denied = append([]stall.Interval(nil), b.Denied...)
	c.Covered = append([]stall.Span(nil), b.Covered...)
	l.batches = append(l.batches, c)
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// await waits until the batches reach over d.
func (l *log) await(t *testing.T, d time.Duration) {
	t.Helper()
	l.until(t, "a batch", func() bool {
		n := len(l.batches)
		return n > 0 && l.batches[n-1].Span.End.Sub(l.batches[0].Span.Start) >= d
	})
}

// awaitCovered waits until some time from t on is covered. However long that takes a
// busy machine, which may let no thread run for seconds, or look late; but one that
// steals all the time covers nothing.
func (l *log) awaitCovered(t *testing.T, from stall.Instant) {
	t.Helper()
	l.until(t, "time that is covered", func() bool {
		return slices.ContainsFunc(l.batches, func(b Observations) bool {
			n := len(b.Covered)
			return b.Span.End > from && (n > 0 && b.Covered[n-1].End > from || b.Totals.Stolen > 0)
		})
	})
}

// until waits for batches.
func (l *log) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	for {
		l.mu.Lock()
		ok := done()
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-l.more:
		case <-deadline:
			t.Fatalf("no batches with %s", what)
		}
	}
}

func clock(t *testing.T) stall.Clock {
	t.Helper()
	c, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(t *testing.T, o Options, l *log) *followed {
	t.Helper()
	l.more = make(chan struct{}, 1)
	o.Clock = clock(t)
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	f := &followed{w, make(chan struct{})}
	go func() {
		defer close(f.done)
		for {
			if _, err := w.Next(context.Background()); err != nil {
				return // io.EOF
			}
			l.add(w.Observations())
		}
	}()
	t.Cleanup(func() { _ = f.Stop() }) // the test has looked at it
	if ok, why := w.Exact(); !ok && !o.CountersOnly {
		t.Skipf("the scheduler cannot be followed here: %v", why)
	}
	return f
}

// followed is a watch whose batches go to a log.
type followed struct {
	*Watch
	done chan struct{}
}

// Stop returns when the log has all batches.
func (f *followed) Stop() error {
	err := f.Close()
	<-f.done
	return err
}
