package dotnet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestAllocations(t *testing.T) {
	a := allocations{on: true}
	if got := a.summary(); !got.Sampled || got.Samples != 0 || allocators(got) != "no event came" {
		t.Errorf("of none: got %+v, %q", got, allocators(got))
	}
	a.add([]dotnetgc.Allocation{{Thread: 7, Samples: 2, SOH: 200, LOH: 50}, {Thread: 0, Samples: 1, SOH: 9}})
	a.add([]dotnetgc.Allocation{{Thread: 7, Samples: 1, POH: 41}, {Thread: 8, Samples: 1, SOH: 700}})
	proc := dotnetipc.Proc{Root: t.TempDir()}
	task := filepath.Join(proc.Root, "42", "task", "1007")
	if err := os.MkdirAll(task, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(task, "status"), []byte("Name:\t.NET TP Worker\nUmask:\t0022\nNSpid:\t1007\t7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	a.name(proc, 42)
	want := &dotnetgc.Allocations{
		Sampled: true, Samples: 5, Bytes: 1000, Others: 9, Threads: []dotnetgc.Allocation{
			{Thread: 8, Samples: 1, SOH: 700},
			{Thread: 7, Name: ".NET TP Worker", Samples: 3, SOH: 200, LOH: 50, POH: 41},
		},
	}
	if diff := cmp.Diff(want, a.summary()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got, want := allocators(a.summary()), "about 0.0 MB by 5 events, 70% by thread 8, 29% by thread 7 .NET TP Worker"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&allocations{}).summary(); got != nil {
		t.Errorf("nobody asked: got %+v", got)
	}
}

// TestAllocationsAreBounded: nothing is left out of the sum.
func TestAllocationsAreBounded(t *testing.T) {
	a := allocations{on: true}
	for thread := range uint64(maxAllocators + 100) {
		a.add([]dotnetgc.Allocation{{Thread: thread + 1, Samples: 1, SOH: gc.Bytes(1)}})
	}
	s := a.summary()
	if len(a.byThread) != maxAllocators || len(s.Threads) != maxNamedAllocators || s.Bytes != maxAllocators+100 || s.Others != s.Bytes-maxNamedAllocators {
		t.Errorf("%d kept, %d told, %d bytes, of which %d by others", len(a.byThread), len(s.Threads), s.Bytes, s.Others)
	}
}
