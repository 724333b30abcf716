package nettrace_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/otelgc/otelgc/internal/nettrace"
)

// fuzzLimits are small, so that the fuzzer meets them.
var fuzzLimits = nettrace.Limits{
	BlockBytes: 1 << 14, HeldEvents: 64, HeldBytes: 1 << 12, Metadata: 64, NameBytes: 1 << 12, Threads: 8,
}

// FuzzReader holds the decoder to its contract: an event or an error, never
// both, never neither; an error has its place within the stream, is repeated,
// and ends it; what is counted is what was handed out; a stream gives the same
// in pieces of any size.
func FuzzReader(f *testing.F) {
	for _, o := range formats {
		f.Add(synthetic(o))
	}
	for _, name := range []string{"collect5", "loh", "level5", "perfview-5.0-arraytypes"} {
		b := capture(f, name)
		f.Add(b[:min(len(b), 6000)])
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		list, stats := fuzzRead(t, bytes.NewReader(stream), len(stream))
		events, lost := uint64(0), uint64(0)
		for _, e := range list {
			if e.Lost > 0 {
				lost += e.Lost
			} else {
				events++
			}
		}
		if stats.Events != events || stats.Lost+stats.Untyped != lost {
			t.Fatalf("handed out %d events and %d lost, stats %+v", events, lost, stats)
		}
		again, _ := fuzzRead(t, iotest.OneByteReader(bytes.NewReader(stream)), len(stream))
		if len(again) != len(list) {
			t.Fatalf("got %d events as a whole, %d byte by byte", len(list), len(again))
		}
		for i := range list {
			if list[i] != again[i] {
				t.Fatalf("event %d: got %+v as a whole, %+v byte by byte", i, list[i], again[i])
			}
		}
	})
}

func fuzzRead(t *testing.T, in io.Reader, size int) ([]seen, nettrace.Stats) {
	r, err := nettrace.NewReader(in, nettrace.Options{Limits: fuzzLimits})
	if (r == nil) == (err == nil) {
		t.Fatalf("got reader %v and error %v, want one of them", r, err)
	}
	var list []seen
	stats := nettrace.Stats{}
	if err == nil {
		list, err = readAll(t, r)
		stats = r.Stats()
	}
	var place *nettrace.Error
	switch {
	case err == io.EOF:
	case !errors.As(err, &place) || place.Offset < 0 || place.Offset > int64(size):
		t.Fatalf("got %v, want an error with its place in %d bytes", err, size)
	case !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, nettrace.ErrFormat) &&
		!errors.Is(err, nettrace.ErrLimit) && !errors.Is(err, nettrace.ErrVersion):
		t.Fatalf("got %v, want a truncation, a broken stream, a limit or a version", err)
	}
	return list, stats
}
