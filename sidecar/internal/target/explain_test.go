package target

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
)

// TestExplain: what is said of a watcher that has nobody to watch fits what it
// was asked for.
func TestExplain(t *testing.T) {
	root := t.TempDir()
	fakeProcess(t, root, 3, "shop", "shop\x00")
	off := t.TempDir()
	fakeProcess(t, off, 3, "shop", "shop\x00")
	if err := os.WriteFile(filepath.Join(off, "3", "environ"), []byte("DOTNET_EnableDiagnostics=0\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	offAuto := &Watcher{o: Options{Selector: Selector{text: "auto"}, Proc: dotnetipc.Proc{Root: off}}}
	if got := offAuto.explain(t.Context()); !strings.Contains(got, "process 3 has DOTNET_EnableDiagnostics=0") || strings.Contains(got, "pid namespace") {
		t.Errorf("diagnostics are switched off: got %q", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		selector string
		ctx      context.Context
		want     string // a part of it; nothing at all if empty
	}{
		{"7", t.Context(), "process 7 has ended"},
		{"auto", t.Context(), "no .NET process has a diagnostics socket"},
		{"till", t.Context(), "no process is called till"},
		{"shop", t.Context(), "(mend: --target 3 watches"},
		{"7", ended, ""},
		{"till", ended, ""},
	} {
		s, err := Parse(c.selector)
		if err != nil {
			t.Fatal(err)
		}
		w := &Watcher{o: Options{Selector: s, Proc: dotnetipc.Proc{Root: root}}}
		got := w.explain(c.ctx)
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("--target %s, ended: %v: got %q, want %q in it", c.selector, c.ctx.Err() != nil, got, c.want)
		}
	}
}

// TestNobodyAtTheEnd: a look that was under way when the watcher was told to end
// begins to watch nobody.
func TestNobodyAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &Watcher{known: make(map[dotnetipc.Identity]*process)}
	if w.begin(ctx, &process{Options: dotnet.Options{ID: dotnetipc.Identity{PID: 3, Created: 4}}}, func() {}) || len(w.known)+len(w.left) != 0 {
		t.Errorf("watched: %v, left: %v, want none", w.known, w.left)
	}
}
