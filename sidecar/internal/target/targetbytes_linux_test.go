package target

import (
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestTargetBytes: what a target holds besides its stream is what the budget counts,
// also where no Collector takes its telemetry.
func TestTargetBytes(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int(s.HeapAlloc)
	}
	all := make([]*process, 16)
	before := heap()
	for i := range all {
		all[i] = newProcess(Options{Clock: clock, Log: slog.New(slog.DiscardHandler)}, dotnetipc.Identity{})
		if _, err := all[i].open(t.Context(), dotnetipc.ProcessInfo{PID: uint64(i + 1), Version: "10.0.0", CommandLine: "x"}); err != nil {
			t.Fatal(err)
		}
		defer all[i].output.providers.Discard()
		for n := range 200 {
			at := stall.Instant(1000 * n)
			all[i].output.collection(&gc.Collection{
				Index: uint64(n + 1), Cycles: 1, Kind: gc.Ephemeral, Trigger: gc.Trigger("AllocSmall" + strconv.Itoa(n%5)),
				Start: gc.Known(at), End: gc.Known(at + 100), Origin: stall.Dotnet, Fidelity: stall.Exact,
				Pauses: []gc.Pause{{Start: at, End: at + 50, EndMax: at + 60}},
			})
		}
	}
	if got := (heap() - before) / len(all); got > targetBytes {
		t.Errorf("a target holds %d bytes, want at most %d", got, targetBytes)
	} else {
		t.Logf("%d bytes", got)
	}
	runtime.KeepAlive(all)
}
