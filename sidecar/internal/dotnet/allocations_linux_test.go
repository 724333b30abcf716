package dotnet

import (
	"strconv"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
)

// TestAzmcpAllocations samples who allocates in a real process, and only when
// asked.
func TestAzmcpAllocations(t *testing.T) {
	server := dotnettest.Start(t, dotnettest.Options{Env: []string{"DOTNET_GCgen0size=80000"}})
	located(t, server.PID())
	server.Initialize()
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(server.PID())), Allocations: true})
	r.await("watching a .NET process", 1)
	r.await("allocations are sampled, as asked", 1)
	for range 100 {
		server.List(0)
	}
	all := r.stop()
	if len(all) != 1 || all[0].Allocations == nil {
		t.Fatalf("summaries: got %+v, want one with allocations", all)
	}
	a := all[0].Allocations
	// A list allocates about 200 kB, and an event comes about every 100 kB: not
	// up to the first collection only.
	if !a.Sampled || a.Samples < 80 || a.Bytes < 8_000_000 || len(a.Threads) == 0 {
		t.Errorf("allocations: got %+v", a)
	}
	sum := a.Others
	named := 0
	for i := range a.Threads {
		sum += a.Threads[i].Bytes()
		if a.Threads[i].Name != "" {
			named++
		}
	}
	if sum != a.Bytes || named == 0 {
		t.Errorf("threads: %d bytes of %d, %d have a name: %+v", sum, a.Bytes, named, a.Threads)
	}
	if all[0].Lost != 0 || all[0].Collections.Total == 0 {
		t.Errorf("summary: got %+v", all[0])
	}
	r.await("allocated_sampled", 1)
}
