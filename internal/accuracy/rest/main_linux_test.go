package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		idle()
	}
	os.Exit(m.Run())
}

// TestRun: it runs and has its lines. What the figures are is no matter of a test.
func TestRun(t *testing.T) {
	var out, log bytes.Buffer
	if err := program().Run(t.Context(), []string{"-warmup", "200ms", "-span", "300ms"}, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	for _, want := range []string{"## What the sidecar costs at rest", "| alone | ", "| with a Go process as its target | ", "| with a .NET process as its target | "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// TestThreads: a thread that works is seen to.
func TestThreads(t *testing.T) {
	before, err := threadsOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
	}
	after, err := threadsOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var ran time.Duration
	for tid, thread := range after {
		ran += thread.cpu - before[tid].cpu
	}
	if ran <= 0 {
		t.Errorf("the threads of a busy process ran %v", ran)
	}
	held := bytes.Repeat([]byte{1}, 1<<20) // a process as small as this one may have less
	if memory, err := memoryOf(os.Getpid()); err != nil || memory < 1<<20 {
		t.Errorf("memory: got %d, %v, want a megabyte or more", memory, err)
	}
	runtime.KeepAlive(held)
}
