package target

import (
	"slices"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
)

// TestAzmcpThreads: a real process's threads are called what we look for, and
// tell its flavor.
func TestAzmcpThreads(t *testing.T) {
	// Where there is one CPU, or a quota of one, the runtime takes no server GC.
	env := []string{"DOTNET_PROCESSOR_COUNT=2", "DOTNET_gcServer=1", "DOTNET_GCHeapCount=2", "DOTNET_GCgen0size=400000"}
	server := dotnettest.Start(t, dotnettest.Options{Env: env})
	server.Initialize()
	var names []string
	for i := range 400 {
		server.List(i % 4 / 3 * 1_000_000)
		threads, _, err := threadsOf(dotnetipc.Proc{}, server.PID())
		if err != nil {
			t.Fatal(err)
		}
		names = names[:0]
		for _, v := range threads {
			names = append(names, v.Name)
		}
		if !slices.Contains(names, backgroundThread) {
			continue
		}
		got := runtimeLine(&configuration{env: map[string]string{"DOTNET_GCHeapCount": "2"}, threads: threads})
		if got["flavor"] != "Server" || got["heap count"] != "2" || got["concurrent"] != "on" {
			t.Errorf("runtime line %v", got)
		}
		return
	}
	t.Errorf("no thread %q after 400 requests: %q", backgroundThread, names)
}
