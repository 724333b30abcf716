package oracle

import (
	"bytes"
	"context"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

// TestOddCircumstances compares traces of programs that do what few do.
func TestOddCircumstances(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(*testing.T)
		run   func(*testing.T)
	}{
		{"the number of Ps changes", nil, changeProcs},
		{"threads that end with their goroutine", nil, endThreads},
		{"threads in system calls", nil, blockThreads},
		{"coroutines", nil, switchCoroutines},
		{"tasks and regions", nil, annotate},
		{"a profile of the CPU", profileCPU, burn},
		{"no goal", func(t *testing.T) { setGC(t, -1, 0) }, collectOften},
		{"a limit of memory", func(t *testing.T) { setGC(t, -1, 64<<20) }, collectOften},
		{"begun in the midst of a collection", beginInCollection, collectOften},
	} {
		t.Run(c.name, func(t *testing.T) {
			if trace.IsEnabled() {
				t.Skip("skipped: somebody else is tracing this process")
			}
			if c.setUp != nil {
				c.setUp(t)
			}
			var out bytes.Buffer
			if err := trace.Start(&out); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			c.run(t)
			trace.Stop()
			compareTraces(t, out.Bytes())
		})
	}
}

// TestFlightRecorder compares what the runtime keeps of its last generations.
func TestFlightRecorder(t *testing.T) {
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Second})
	if err := r.Start(); err != nil {
		t.Skipf("skipped: %v", err)
	}
	defer r.Stop()
	for range 3 {
		collectOften(t)
		var out bytes.Buffer
		if _, err := r.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		compareTraces(t, out.Bytes())
	}
}

func logMark(key string) { trace.Log(context.Background(), gotracetest.MarkPrefix+key, "") }

const lasting = 100 * time.Millisecond

// while calls f until the time is over, on n goroutines.
func while(n int, f func()) {
	var wg sync.WaitGroup
	end := time.Now().Add(lasting)
	for range n {
		wg.Go(func() {
			logMark("worker")
			for time.Now().Before(end) {
				f()
			}
		})
	}
	wg.Wait()
}

var garbage sync.Map

func allocateSome() {
	for i := range 64 {
		garbage.Store(i, make([]byte, 16<<10))
	}
}

func changeProcs(*testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	n := 0
	go while(3, allocateSome)
	while(1, func() {
		n++
		runtime.GOMAXPROCS(1 + n%5)
		time.Sleep(100 * time.Microsecond)
	})
}

func endThreads(*testing.T) {
	while(4, func() {
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			logMark("locked")
			allocateSome()
			close(done)
		}()
		<-done
	})
}

func blockThreads(t *testing.T) {
	while(24, func() {
		r, w, err := os.Pipe()
		if err != nil {
			t.Error(err)
			return
		}
		_ = r.Fd() // makes it blocking: each read has a thread of its own
		go func() {
			time.Sleep(time.Millisecond)
			_, _ = w.Write([]byte{1})
			_ = w.Close()
		}()
		_, _ = r.Read(make([]byte, 1))
		_ = r.Close()
	})
}

func switchCoroutines(*testing.T) {
	while(2, func() {
		next, stop := iter.Pull(func(yield func(int) bool) {
			logMark("coroutine")
			for i := range 20 {
				allocateSome()
				if !yield(i) {
					return
				}
			}
		})
		for range 10 {
			next()
		}
		stop()
	})
}

func annotate(*testing.T) {
	while(2, func() {
		ctx, task := trace.NewTask(context.Background(), "task")
		defer task.End()
		trace.WithRegion(ctx, "region", func() {
			trace.Logf(ctx, gotracetest.MarkPrefix+"in a region", "%d", 1)
			allocateSome()
		})
	})
}

func profileCPU(t *testing.T) {
	if err := pprof.StartCPUProfile(new(bytes.Buffer)); err != nil {
		t.Skipf("skipped: %v", err)
	}
	t.Cleanup(pprof.StopCPUProfile)
}

func burn(*testing.T) { while(2, allocateSome) }

func setGC(t *testing.T, percent int, limit int64) {
	t.Cleanup(func() {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(1<<63 - 1)
	})
	debug.SetGCPercent(percent)
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

func collectOften(*testing.T) {
	while(2, func() {
		allocateSome()
		runtime.GC()
		logMark("collected")
	})
}

// beginInCollection returns while a large heap is marked.
func beginInCollection(t *testing.T) {
	var large []*[16]*byte
	for range 400_000 {
		large = append(large, new([16]*byte))
	}
	go func() {
		for range 5 {
			runtime.GC()
		}
		runtime.KeepAlive(large)
	}()
	time.Sleep(2 * time.Millisecond)
	_ = t
}
