package demo

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/demo/wire"
	"github.com/otelgc/otelgc/stall"
)

// tell writes an account as a service does.
func tell(t *testing.T, write func(*wire.Writer) []error) *account {
	t.Helper()
	a := &account{maxWindows: 100}
	greeted := false
	if err := a.read(stream(t, write), func() { greeted = true }); err != nil {
		t.Fatal(err)
	}
	if !greeted || !a.ended {
		t.Fatalf("greeted: %v, ended: %v, want both", greeted, a.ended)
	}
	return a
}

func stream(t *testing.T, write func(*wire.Writer) []error) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := wire.NewWriter(&b)
	for _, err := range append(write(w), w.Flush()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

func hello() *wire.Hello { return &wire.Hello{Address: "127.0.0.1:1", ProbeMode: "periodic"} }

// TestAccountRefuses holds the parent against a child that does not keep to the
// protocol.
func TestAccountRefuses(t *testing.T) {
	tests := []struct {
		name  string
		write func(*wire.Writer) []error
		cut   int
		want  string
	}{
		{"two hellos", func(w *wire.Writer) []error { return []error{w.Hello(hello()), w.Hello(hello())} }, 0,
			"read account of service: frame 'H' is out of order"},
		{"a farewell first", func(w *wire.Writer) []error { return []error{w.Farewell(&wire.Farewell{})} }, 0,
			"read account of service: frame 'F' is out of order"},
		{"a hello from nowhere", func(w *wire.Writer) []error { return []error{w.Hello(&wire.Hello{})} }, 0,
			"read account of service: hello without an address"},
		{"words after the last", func(w *wire.Writer) []error {
			return []error{w.Hello(hello()), w.Farewell(&wire.Farewell{}), w.Farewell(&wire.Farewell{})}
		}, 0, "read account of service: frame 'F' is out of order"},
		{"words after a failure", func(w *wire.Writer) []error {
			return []error{w.Failure(errors.New("no room")), w.Hello(hello())}
		}, 0, "read account of service: frame 'H' is out of order"},
		{"half a frame", func(w *wire.Writer) []error { return []error{w.Hello(hello())} }, 1,
			"read account of service: read payload of frame at byte 0: unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := stream(t, tt.write)
			b.Truncate(b.Len() - tt.cut)
			a := &account{maxWindows: 1}
			err := a.read(b, func() {})
			if err == nil || err.Error() != tt.want {
				t.Errorf("read: %v, want %q", err, tt.want)
			}
		})
	}
}

// TestAccountOfAFailure: why the service ended is known.
func TestAccountOfAFailure(t *testing.T) {
	a := &account{}
	b := stream(t, func(w *wire.Writer) []error { return []error{w.Failure(errors.New("start monitor: no room"))} })
	if err := a.read(b, func() {}); err != nil || !a.ended || a.failure == nil || a.failure.Error() != "service: start monitor: no room" {
		t.Errorf("read: %v, ended: %v, failure %v", err, a.ended, a.failure)
	}
}

func TestAccountIsBounded(t *testing.T) {
	w := stall.Window{Start: 1, End: 2}
	s := stall.Share{Total: 1, Unseen: 1}
	a := &account{maxWindows: 2}
	b := stream(t, func(out *wire.Writer) []error {
		return []error{out.Window(&w, &s), out.Window(&w, &s), out.Window(&w, &s)}
	})
	if err := a.read(b, func() {}); err != nil {
		t.Fatal(err)
	}
	if len(a.at) != 2 || a.left != 1 {
		t.Errorf("%d windows kept, %d left out, want 2 and 1", len(a.at), a.left)
	}
}

// TestAMatchedWindowThatLies is refused when it is decoded, not believed.
func TestAMatchedWindowThatLies(t *testing.T) {
	w := stall.Window{Start: 1, End: 2}
	s := stall.Share{Total: 1, Unseen: 7}
	a := &account{maxWindows: 2}
	b := stream(t, func(out *wire.Writer) []error { return []error{out.Window(&w, &s)} })
	if err := a.read(b, func() {}); err != nil {
		t.Fatal(err)
	}
	if _, err := match(nil, a, new(followed)); err == nil || !strings.Contains(err.Error(), "share sums to 7ns, want its total of 1ns") {
		t.Errorf("match: %v, want that the share does not sum", err)
	}
}
