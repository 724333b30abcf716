package perfetto

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelgc/otelgc/stall"
)

// fields reads a message: the values of each field, in order. A varint is a uint64, a
// fixed one too, bytes are bytes.
func fields(t *testing.T, b []byte) map[protowire.Number][]any {
	t.Helper()
	all := map[protowire.Number][]any{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has wire type %d", number, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		all[number] = append(all[number], v)
	}
	return all
}

// packets writes what a trace has, one line a packet, by the numbers that the Perfetto
// project publishes.
func packets(t *testing.T, trace []byte) (lines []string) {
	t.Helper()
	for i, p := range fields(t, trace)[1] {
		packet := fields(t, p.([]byte))
		if packet[10][0] != uint64(1) {
			t.Errorf("packet %d is of sequence %v", i, packet[10])
		}
		if (packet[13] != nil) != (i == 0) {
			t.Errorf("packet %d has flags %v", i, packet[13])
		}
		if d := packet[60]; d != nil {
			f := fields(t, d[0].([]byte))
			line := fmt.Sprintf("track %d %q", f[1][0], f[2][0])
			if f[5] != nil {
				line += fmt.Sprintf(" below %d", f[5][0])
			}
			if f[3] != nil {
				process := fields(t, f[3][0].([]byte))
				line += fmt.Sprintf(" of process %d %q", process[1][0], process[6][0])
			}
			if f[8] != nil {
				line += fmt.Sprintf(" counts unit %d", fields(t, f[8][0].([]byte))[3][0])
			}
			lines = append(lines, line)
			continue
		}
		f := fields(t, packet[11][0].([]byte))
		line := fmt.Sprintf("at %d type %d track %d", packet[8][0], f[9][0], f[11][0])
		for _, name := range f[23] {
			line += fmt.Sprintf(" %q", name)
		}
		for _, v := range f[30] {
			line += fmt.Sprintf(" = %d", v)
		}
		for _, a := range f[4] {
			arg := fields(t, a.([]byte))
			line += fmt.Sprintf(" %s", arg[10][0])
			switch {
			case arg[4] != nil:
				line += fmt.Sprintf(":%d", int64(arg[4][0].(uint64)))
			case arg[5] != nil:
				line += fmt.Sprintf(":%v", math.Float64frombits(arg[5][0].(uint64)))
			default:
				line += fmt.Sprintf(":%q", arg[6][0])
			}
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
		`at 100 type 1 track 2 "GC 7" pause_ns:-1 share:0.5 kind:"background"`,
		`at 250 type 2 track 2`,
		`at 300 type 3 track 2 "now"`,
		`at 0 type 1 track 2 "before the boot"`,
		`at 10 type 2 track 2`,
		`track 3 "heap" below 1 counts unit 3`,
		`at 250 type 4 track 3 = 1099511627776`,
		`track 4 "unknown"`,
	}
	if diff := cmp.Diff(want, packets(t, b.Bytes())); diff != "" {
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
