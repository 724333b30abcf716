package target

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestRuntimeLine(t *testing.T) {
	own, segments := "", "libclrgc.so"
	workstation := []proc.Stat{{Name: "azmcp"}, {Name: tieringThread}}
	server := []proc.Stat{{Name: "azmcp"}, {Name: serverThread}, {Name: serverThread}}
	tests := []struct {
		name string
		of   configuration
		want map[string]string // what is not unknown
	}{
		{"nothing is known", configuration{}, nil},
		{"workstation", configuration{env: map[string]string{"DOTNET_gcConcurrent": "0"}, threads: workstation}, map[string]string{
			"flavor": "Workstation", "heap count": "1", "affinity": "none", "DATAS": "off", "concurrent": "off", "tiering": "on", "ReadyToRun": "on",
		}},
		{"server of an unknown number of heaps", configuration{threads: append(server, proc.Stat{Name: backgroundThread})}, map[string]string{
			"flavor": "Server", "concurrent": "on",
		}},
		{"server of two heaps", configuration{
			env: map[string]string{"DOTNET_GCHeapCount": "2", "COMPlus_GCHeapAffinitizeMask": "3", "DOTNET_ReadyToRun": "0"}, threads: server,
		}, map[string]string{
			"flavor": "Server", "heap count": "2", "affinity": "GCHeapAffinitizeMask=3", "ReadyToRun": "off",
		}},
		{"server without DATAS", configuration{
			env: map[string]string{"DOTNET_GCDynamicAdaptationMode": "0", "COMPlus_GCDynamicAdaptationMode": "1"}, threads: server,
		}, map[string]string{
			"flavor": "Server", "heap count": "2", "DATAS": "off", "ReadyToRun": "on",
		}},
		{"runtimeconfig.json", configuration{
			config: map[string]string{"System.GC.Concurrent": "false", "System.GC.NoAffinitize": "true", "System.Runtime.TieredCompilation": "false"}, threads: server,
		}, map[string]string{
			"flavor": "Server", "concurrent": "off", "tiering": "off", "affinity": "GCNoAffinitize=1",
		}},
		{"the environment goes first", configuration{
			env: map[string]string{"DOTNET_gcConcurrent": "1"}, config: map[string]string{"System.GC.Concurrent": "false"},
		}, map[string]string{"concurrent": "on", "ReadyToRun": "on"}},
		{"regions", configuration{version: "10.0.9", arch: "x64", module: &own}, map[string]string{"version": "10.0.9", "heap layout": "regions"}},
		{"segments", configuration{version: "6.0.36", arch: "x64", module: &own}, map[string]string{"version": "6.0.36", "heap layout": "segments"}},
		{"32 bit", configuration{version: "8.0.1", arch: "arm32", module: &own}, map[string]string{"version": "8.0.1"}},
		{"nobody may look", configuration{version: "10.0.9", arch: "x64"}, map[string]string{"version": "10.0.9"}},
		{"another collector", configuration{version: "10.0.9", arch: "x64", module: &segments}, map[string]string{
			"version": "10.0.9", "heap layout": "of libclrgc.so",
		}},
	}
	for _, tt := range tests {
		got := runtimeLine(&tt.of)
		if len(got) != 10 {
			t.Errorf("%s: %d facts, want 10", tt.name, len(got))
		}
		for name, value := range got {
			if strings.HasPrefix(value, unknown) {
				delete(got, name)
			}
		}
		if len(tt.want) == 0 && len(got) == 0 {
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLatency records the modes that collections tell, each once.
func TestLatency(t *testing.T) {
	var got []string
	v := recorder{said: recording.Target{Facts: map[string]string{factLatency: unknown}}, add: func(r recording.Record) {
		got = append(got, r.(recording.Target).Facts[factLatency])
	}}
	for _, mode := range []dotnetgc.PauseMode{3, 3, 2, 3} {
		v.latency(gc.Maybe[dotnetgc.PauseMode]{})
		v.latency(gc.Known(mode))
	}
	if diff := cmp.Diff([]string{"SustainedLowLatency", "SustainedLowLatency, then LowLatency"}, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestTapeOfTheEnd: what only the end cuts off is no time that was lost in the midst of
// the watch, and counts as watched neither.
func TestTapeOfTheEnd(t *testing.T) {
	for _, c := range []struct{ unseen, mark stall.Instant }{{5, 29}, {8, 26}, {25, 19}} {
		var got []recording.Record
		v := recorder{id: 3, add: func(r recording.Record) { got = append(got, r) }}
		v.status(stall.Dotnet, 10, 9, 1, 0, false)
		v.status(stall.Dotnet, 20, 19, 2, 5, false)
		v.status(stall.Dotnet, 30, 29, 2, time.Duration(c.unseen), true)
		status := func(at, mark stall.Instant, lost uint64, unseen time.Duration) recording.Record {
			return recording.Status{Source: "dotnet", Target: 3, At: at, Watermark: mark, Dropped: lost, Unseen: unseen}
		}
		if diff := cmp.Diff([]recording.Record{status(10, 9, 1, 0), status(20, 19, 2, 5), status(30, c.mark, 2, 5)}, got); diff != "" {
			t.Errorf("unseen %d (-want +got):\n%s", c.unseen, diff)
		}
	}
	(&recorder{}).status(stall.Dotnet, 10, 9, 1, 0, false) // nothing is recorded
}

// TestWhyUnknown: what nobody set says how to have it said, and a background
// collection proves that they are on.
func TestWhyUnknown(t *testing.T) {
	for want, c := range map[string]configuration{
		"unknown: DOTNET_gcConcurrent is not set":  {env: map[string]string{}},
		"unknown: its environment may not be read": {},
	} {
		if got := runtimeLine(&c)[factConcurrent]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var got []string
	v := recorder{said: recording.Target{Facts: map[string]string{factConcurrent: unknown + ": nobody set it"}}, add: func(r recording.Record) {
		if told, ok := r.(recording.Target); ok {
			got = append(got, told.Facts[factConcurrent])
		}
	}}
	for _, kind := range []gc.Kind{gc.Ephemeral, gc.FullBlocking, gc.Background, gc.Background} {
		v.collection(&gc.Collection{Kind: kind})
	}
	if diff := cmp.Diff([]string{"on"}, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
