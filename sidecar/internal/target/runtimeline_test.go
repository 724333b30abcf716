package target

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRuntimeLine(t *testing.T) {
	server := []thread{{name: "azmcp"}, {name: serverThread}, {name: serverThread}}
	tests := []struct {
		name    string
		env     map[string]string
		threads []thread
		want    map[string]string // what is not unknown
	}{
		{"nothing is known", nil, nil, nil},
		{"workstation", map[string]string{"DOTNET_gcConcurrent": "0"}, []thread{{name: "azmcp"}, {name: tieringThread}}, map[string]string{
			"flavor": "Workstation", "heap count": "1", "affinity": "none", "DATAS": "off", "concurrent": "off", "tiering": "on",
		}},
		{"server of an unknown number of heaps", nil, append(server, thread{name: backgroundThread}), map[string]string{
			"flavor": "Server", "concurrent": "on",
		}},
		{"server of two heaps", map[string]string{"DOTNET_GCHeapCount": "2", "COMPlus_GCHeapAffinitizeMask": "3"}, server, map[string]string{
			"flavor": "Server", "heap count": "2", "affinity": "GCHeapAffinitizeMask=3",
		}},
		{"server without DATAS", map[string]string{"DOTNET_GCDynamicAdaptationMode": "0", "COMPlus_GCDynamicAdaptationMode": "1"}, server, map[string]string{
			"flavor": "Server", "heap count": "2", "DATAS": "off",
		}},
	}
	for _, tt := range tests {
		got := runtimeLine("", tt.env, tt.threads)
		if len(got) != 10 {
			t.Errorf("%s: %d facts, want 10", tt.name, len(got))
		}
		for name, value := range got {
			if value == unknown {
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

func FuzzParseThread(f *testing.F) {
	stat := "7 (.NET Server GC) S 1 7 7 0 -1 4194368 0 0 0 0 250 50 0 0 20 0 9 0 4711 0"
	f.Add([]byte(stat))
	f.Add([]byte("7 (a) b) S 1"))
	f.Add([]byte(")("))
	if got, ok := parseThread([]byte(stat)); !ok || got != (thread{7, serverThread, 3 * time.Second, 4711}) {
		f.Errorf("got %+v, %v", got, ok)
	}
	f.Fuzz(func(t *testing.T, stat []byte) {
		if got, ok := parseThread(stat); ok && got.cpu < 0 {
			t.Errorf("%v of CPU time", got.cpu)
		}
	})
}
