package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestReaderErrors(t *testing.T) {
	tests := []struct {
		name, in, want string
		truncated      bool
	}{
		{name: "unknown type", in: "Z\x00", want: "read frame at byte 0: unknown type 0x5a"},
		{name: "no length", in: "W", want: "read length of frame at byte 0: unexpected EOF", truncated: true},
		{name: "half a payload", in: "W\x05ab", want: "read payload of frame at byte 0: unexpected EOF", truncated: true},
		{name: "second frame", in: "W\x01aG\x02b", want: "read payload of frame at byte 3: unexpected EOF", truncated: true},
		{name: "too large", in: "W" + string(binary.AppendUvarint(nil, maxPayload+1)), want: "read frame at byte 0: payload of 65537 bytes, at most 65536"},
		{name: "endless length", in: "W" + strings.Repeat("\xff", 11), want: "read length of frame at byte 0: varint is longer than 10 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReader(strings.NewReader(tt.in))
			var err error
			for err == nil {
				_, _, err = r.Next()
			}
			if err.Error() != tt.want {
				t.Errorf("error %q, want %q", err, tt.want)
			}
			if got := errors.Is(err, io.ErrUnexpectedEOF); got != tt.truncated {
				t.Errorf("errors.Is(err, io.ErrUnexpectedEOF) = %v, want %v", got, tt.truncated)
			}
		})
	}
}

// FuzzReader holds the reader to its contract: whatever a child writes, every
// frame is an error or a value in its range, and a share sums to its total.
func FuzzReader(f *testing.F) {
	w, s := sample()
	var b bytes.Buffer
	out := NewWriter(&b)
	_ = out.Hello(&Hello{Address: "a"})
	_ = out.Window(&w, &s)
	_ = out.Collection(&gc.Collection{Index: 1, Cycles: 1, Pauses: []gc.Pause{{Start: 1, End: 2}}})
	_ = out.Gap(&stall.Interval{Start: 1, End: 2, Cause: stall.HostUnknown})
	_ = out.Suspension(&stall.Interval{Start: 1, End: 2, Cause: stall.RuntimeSuspension})
	_ = out.Farewell(&Farewell{})
	_ = out.Flush()
	f.Add(b.Bytes())
	f.Add([]byte("W\x05\xff\xff\xff\xff\x0f"))
	f.Add([]byte("C\x03\x01\x01\xff"))
	f.Add([]byte("C\x06\x01\x01\x02\x04\x01\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		for {
			k, payload, err := r.Next()
			if err != nil {
				if err != io.EOF && !strings.HasPrefix(err.Error(), "read ") {
					t.Fatalf("error %q, want one that says what was read", err)
				}
				return
			}
			decode(t, k, payload)
		}
	})
}

func decode(t *testing.T, k Kind, payload []byte) {
	switch k {
	case KindWindow:
		var w stall.Window
		var s stall.Share
		if DecodeWindow(payload, &w, &s) == nil && ((s.Collections > 0) != (s.GC() > 0) || sumOf(&s) != s.Total || s.Total < 0 ||
			slices.Max(s.Charged[:]) > s.Total || slices.Min(s.Charged[:]) < 0 || w.End < w.Start) {
			t.Fatalf("DecodeWindow(%x) = %+v, %+v", payload, w, s)
		}
	case KindCollection:
		c, err := DecodeCollection(payload)
		if err == nil && (c.Kind >= gc.NumKinds || c.Active.End < c.Active.Start) {
			t.Fatalf("DecodeCollection(%x) = %+v", payload, c)
		}
		for _, p := range c.Pauses {
			if err == nil && p.End < p.Start {
				t.Fatalf("DecodeCollection(%x) = %+v", payload, c)
			}
		}
	case KindGap:
		if v, err := DecodeGap(payload); err == nil && (v.End < v.Start || v.Cause >= stall.NumCauses || v.Slack < 0) {
			t.Fatalf("DecodeGap(%x) = %+v", payload, v)
		}
	case KindSuspension:
		if v, err := DecodeSuspension(payload); err == nil && (v.End < v.Start || v.Cause != stall.RuntimeSuspension || v.Slack < 0) {
			t.Fatalf("DecodeSuspension(%x) = %+v", payload, v)
		}
	case KindHello:
		_, _ = DecodeHello(payload)
	case KindFarewell:
		_, _ = DecodeFarewell(payload)
	}
}

// TestFailureIsBounded: a long reason loses its end.
func TestFailureIsBounded(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := errors.Join(w.Failure(errors.New(strings.Repeat("x", maxPayload+1))), w.Flush()); err != nil {
		t.Fatal(err)
	}
	k, payload, err := NewReader(&b).Next()
	if k != KindFailure || len(payload) != longestFailure || err != nil {
		t.Errorf("got kind %q, %d bytes, %v, want %q and %d", k, len(payload), err, KindFailure, longestFailure)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("pipe is gone") }

func TestWriterKeepsItsError(t *testing.T) {
	w, s := sample()
	out := NewWriter(full{})
	if err := out.Window(&w, &s); err != nil {
		t.Fatal(err)
	}
	want := "flush frames: pipe is gone"
	for range 2 {
		if err := out.Flush(); err == nil || err.Error() != want {
			t.Errorf("Flush: %v, want %q", err, want)
		}
	}
	if err := out.Window(&w, &s); err == nil {
		t.Error("Window after an error: no error")
	}
}
