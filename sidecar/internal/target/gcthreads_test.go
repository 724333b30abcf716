package target

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGCThreads(t *testing.T) {
	got := gcThreads([]thread{
		{"azmcp", time.Hour}, {serverThread, time.Second}, {backgroundThread, 10 * time.Millisecond}, {serverThread, 2 * time.Second},
	}, 7)
	want := []GCThreads{{serverThread, 2, 3e9, 7}, {backgroundThread, 1, 1e7, 7}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if got := gcThreads([]thread{{"azmcp", time.Hour}}, 7); got != nil {
		t.Errorf("got %v of a process without such threads", got)
	}
}
