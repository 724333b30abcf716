package perfetto

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/perfetto/perfettotest"
	"github.com/otelgc/otelgc/stall"
)

// lines writes what a trace has, one line a packet.
func lines(t *testing.T, trace []byte) (lines []string) {
	t.Helper()
	for i, p := range perfettotest.Decode(t, trace) {
		if p.Sequence != 1 || (p.Flags != 0) != (i == 0) {
			t.Errorf("packet %d is of sequence %d, with flags %d", i, p.Sequence, p.Flags)
		}
		if d := p.Descriptor; d != nil {
			line := fmt.Sprintf("track %d %q", d.ID, d.Name)
			if d.Parent != 0 {
				line += fmt.Sprintf(" below %d", d.Parent)
			}
			if d.PID != 0 {
				line += fmt.Sprintf(" of process %d %q", d.PID, d.ProcessName)
			}
			lines = append(lines, line+strings.TrimRight(" "+d.Unit, " "))
			continue
		}
		e := p.Event
		line := fmt.Sprintf("at %d %s track %d", e.At, e.Type, e.Track)
		if e.Name != "" {
			line += fmt.Sprintf(" %q", e.Name)
		}
		if e.Counter != 0 {
			line += fmt.Sprintf(" = %d", e.Counter)
		}
		for _, name := range slices.Sorted(maps.Keys(e.Args)) {
			line += fmt.Sprintf(" %s:%#v", name, e.Args[name])
		}
		lines = append(lines, line)
	}
	return lines
}

// TestWriter writes one of each thing.
func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	p := w.Process(42, "shop")
	gc := w.Track(p, "collections")
	w.Slice(gc, stall.Span{Start: 100, End: 250}, "GC 7", Arg{"pause_ns", int64(-1)}, Arg{"share", 0.5}, Arg{"kind", "background"})
	w.Slice(gc, stall.Span{Start: 300, End: 300}, "now")
	w.Slice(gc, stall.Span{Start: -5, End: 10}, "before the boot")
	heap := w.Bytes(p, "heap")
	w.Count(heap, 250, 1<<40)
	w.Process(0, "unknown")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`track 1 "shop" of process 42 "shop"`,
		`track 2 "collections" below 1`,
		`at 100 TYPE_SLICE_BEGIN track 2 "GC 7" kind:"background" pause_ns:-1 share:0.5`,
		`at 250 TYPE_SLICE_END track 2`,
		`at 300 TYPE_INSTANT track 2 "now"`,
		`at 0 TYPE_SLICE_BEGIN track 2 "before the boot"`,
		`at 10 TYPE_SLICE_END track 2`,
		`track 3 "heap" below 1 UNIT_SIZE_BYTES`,
		`at 250 TYPE_COUNTER track 3 = 1099511627776`,
		`track 4 "unknown"`,
	}
	if diff := cmp.Diff(want, lines(t, b.Bytes())); diff != "" {
		t.Errorf("packets (-want +got):\n%s", diff)
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFullDisk: what could not be written is an error.
func TestFullDisk(t *testing.T) {
	w := NewWriter(full{})
	w.Slice(w.Process(1, "p"), stall.Span{Start: 1, End: 2}, "s")
	if err := w.Close(); err == nil || err.Error() != "write perfetto trace: no space left on device" {
		t.Errorf("got %v, want an error", err)
	}
}
