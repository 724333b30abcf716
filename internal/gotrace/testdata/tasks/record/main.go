// Command record writes a small execution trace of itself to standard output, of
// user tasks: nested ones, and such as end on another goroutine, in another
// generation, twice, or not at all. It builds for Linux with every Go from 1.22 on,
// and made the captures beside it, from a directory outside the module:
// GOTOOLCHAIN=go1.22.12 go run main.go > ../go1.22.12.trace
package main

import (
	"context"
	"log"
	"os"
	"runtime/trace"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const clockMonotonic = 1

// monotonic reads CLOCK_MONOTONIC, in nanoseconds.
func monotonic() int64 {
	var ts syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		log.Fatal(e)
	}
	return ts.Nano()
}

// clock begins a task that has the time at its begin as its name.
func clock() {
	_, task := trace.NewTask(context.Background(), "clock "+strconv.FormatInt(monotonic(), 10))
	task.End()
}

func request(name string) {
	ctx, task := trace.NewTask(context.Background(), name)
	defer task.End()
	for range 3 {
		_, part := trace.NewTask(ctx, name+" part")
		time.Sleep(time.Millisecond)
		part.End()
	}
}

func main() {
	_, before := trace.NewTask(context.Background(), "before the trace")
	if err := trace.Start(os.Stdout); err != nil {
		log.Fatal(err)
	}
	before.End()
	var wg sync.WaitGroup
	for _, name := range []string{"GET /a", "GET /b"} {
		wg.Add(1)
		go func() { defer wg.Done(); clock(); request(name) }()
	}
	ctx, long := trace.NewTask(context.Background(), "long")
	_, orphan := trace.NewTask(ctx, "ends after its parent")
	time.Sleep(1500 * time.Millisecond) // a generation is a second
	wg.Add(1)
	go func() { defer wg.Done(); long.End(); orphan.End(); orphan.End() }()
	wg.Wait()
	clock()
	trace.NewTask(ctx, "never ends")
	trace.Stop()
}
