// Target is a Go program that collects and stops as it is told to, line by line. It
// builds with Go 1.22.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"time"
)

// answer is what the runtime says of itself.
type answer struct {
	Collections uint32
	Pause       uint64 // nanoseconds, of all
	Sum         int    // of the work, which is 42
}

var (
	keep [1 << 10][]byte
	mu   sync.Mutex
)

// churn allocates until so many collections have begun by themselves.
func churn(collections int64) {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	until := s.NumGC + collections
	var wait sync.WaitGroup
	for g := 0; g < 4; g++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var s debug.GCStats
			for i := 0; s.NumGC < until; i++ {
				b := make([]byte, 16<<10)
				mu.Lock()
				keep[i%len(keep)] = b
				mu.Unlock()
				if i%64 == 0 {
					debug.ReadGCStats(&s)
				}
			}
		}()
	}
	wait.Wait()
}

// stop stops the world for several reasons.
func stop() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(n + 1)
	runtime.GOMAXPROCS(n)
	runtime.Stack(make([]byte, 1<<10), true)
	_ = pprof.Lookup("goroutine").WriteTo(io.Discard, 0)
}

// traced makes an execution trace of nothing.
func traced() {
	if err := trace.Start(io.Discard); err == nil {
		trace.Stop()
	}
}

func stats() (a answer) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return answer{Collections: m.NumGC, Pause: m.PauseTotalNs}
}

func work(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		runtime.GC()
		stop()
		churn(1)
		sum += 42
	}
	return sum / max(1, n)
}

func main() {
	fmt.Println("ready")
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var word string
		var n int
		_, _ = fmt.Sscan(in.Text(), &word, &n)
		var a answer
		switch word {
		case "stats":
			a = stats()
		case "work":
			sum := work(n)
			a = stats()
			a.Sum = sum
		case "trace":
			for i := 0; i < n; i++ {
				traced()
			}
			a = stats()
		case "storm": // as many stops as there can be, for n milliseconds
			stops := 0
			for end := time.Now().Add(time.Duration(n) * time.Millisecond); time.Now().Before(end); stops++ {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
			}
			a = stats()
			a.Sum = stops
		case "exec":
			again()
		}
		_ = out.Encode(a)
	}
}
