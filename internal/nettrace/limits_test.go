package nettrace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// TestLimits meets each limit that is an error, in each format that has it.
func TestLimits(t *testing.T) {
	many := func(w *nettracetest.Writer) {
		for k := range uint64(40) {
			e := at(k+1, k+1, false)
			e.ID, e.Payload = int(k), make([]byte, 100)
			w.Events(e)
		}
	}
	for name, o := range formats {
		for _, c := range []struct {
			name   string
			limits nettrace.Limits
			write  func(w *nettracetest.Writer)
			text   string
		}{
			{"block", nettrace.Limits{BlockBytes: 110}, many, "block bytes"},
			{"metadata", nettrace.Limits{Metadata: 10}, many, "metadata id 11, at most 10"},
			{"names", nettrace.Limits{NameBytes: 1000}, func(w *nettracetest.Writer) {
				e := at(1, 1, false)
				for n := range 20 {
					e.Name = strings.Repeat("n", 60+n)
					w.Events(e)
				}
			}, "name bytes"},
			{"sequence point", nettrace.Limits{Threads: 2}, func(w *nettracetest.Writer) {
				w.SequencePoint(1, 0, make([]nettracetest.Reached, 3)...)
			}, "threads of a sequence point 3, at most 2"},
			{"threads", nettrace.Limits{Threads: 2}, func(w *nettracetest.Writer) {
				if o.Version == 6 {
					w.Threads(nettracetest.Thread{Index: 1}, nettracetest.Thread{Index: 2}, nettracetest.Thread{Index: 1}, nettracetest.Thread{Index: 3})
				}
			}, "threads 3, at most 2"},
			{"removed threads", nettrace.Limits{Threads: 2}, func(w *nettracetest.Writer) {
				if o.Version == 6 {
					w.RemoveThreads(make([]nettracetest.Reached, 3)...)
				}
			}, "threads removed at once 3, at most 2"},
		} {
			if strings.Contains(c.text, "threads") && !strings.Contains(c.text, "point") && o.Version != 6 {
				continue
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				w := nettracetest.New(o)
				c.write(w)
				w.End()
				_, _, err := read(t, w.Bytes(), nettrace.Options{Limits: c.limits})
				var place *nettrace.Error
				if !errors.Is(err, nettrace.ErrLimit) || !errors.As(err, &place) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("got %v, want it over the limit: %s", err, c.text)
				}
			})
		}
	}
}

// TestHeld hands out early what is over the limits of what is held, and says
// so.
func TestHeld(t *testing.T) {
	for name, limits := range map[string]nettrace.Limits{"events": {HeldEvents: 100}, "bytes": {HeldBytes: 1000}} {
		w := nettracetest.New(nettracetest.Options{})
		for k := range uint64(50) {
			var list []nettracetest.Event
			for n := range uint64(10) {
				e := at(10*k+n+1, 1, false)
				e.Payload = make([]byte, 10)
				list = append(list, e)
			}
			w.Events(list...)
		}
		w.Events(at(3, 2, false))
		w.End()
		list, r, err := read(t, w.Bytes(), nettrace.Options{Limits: limits})
		if err != io.EOF || len(list) != 501 {
			t.Errorf("%s: got %d events, %v", name, len(list), err)
		}
		if s := r.Stats(); s.Forced < 3 || s.Late != 1 {
			t.Errorf("%s: stats %+v, want some forced, one late", name, s)
		}
	}
}

// TestForgottenThreads cannot judge the numbers of threads that were forgotten.
func TestForgottenThreads(t *testing.T) {
	w := nettracetest.New(nettracetest.Options{})
	w.Events(at(1, 1, false), at(2, 2, false), at(3, 3, false), at(4, 1, false), at(5, 1, false))
	w.Lose(1, 1)
	w.Events(at(6, 1, false))
	w.End()
	list, r, err := read(t, w.Bytes(), nettrace.Options{Limits: nettrace.Limits{Threads: 2}})
	if diff := cmp.Diff([]loss{{1, 1, 5, 6}}, losses(list)); diff != "" || err != io.EOF || r.Stats().Forgotten != 2 {
		t.Errorf("%v, %+v (-want +got):\n%s", err, r.Stats(), diff)
	}
}

// TestBroken breaks a stream, and wants to hear what and where.
func TestBroken(t *testing.T) {
	four := synthetic(nettracetest.Options{Version: 4})
	six := synthetic(nettracetest.Options{Version: 6})
	set := func(b []byte, at int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], v)
		return b
	}
	negative := binary.LittleEndian.AppendUint32(nil, 1<<31)
	block := bytes.Index(four, []byte("MetadataBlock")) + len("MetadataBlock") + 1
	for _, c := range []struct {
		name   string
		stream []byte
		kind   error
		offset int64
		text   string
	}{
		{"another file", []byte("\x7fELF\x02\x01\x01"), nettrace.ErrFormat, 0, `not a nettrace stream: it does not begin with "Nettrace"`},
		{"magic", set(four, 8, 21), nettrace.ErrFormat, 0, "21 after the magic"},
		{"serialization", set(four, 31, '2'), nettrace.ErrFormat, 0, "serialization"},
		{"trace of version 3", set(four, 35, 3), nettrace.ErrVersion, 32, "nettrace 3, supported are 4, 5 and 6"},
		{"trace for readers of version 6", set(four, 39, 6), nettrace.ErrVersion, 32, "nettrace 6, supported are"},
		{"major version 7", set(six, 12, 7), nettrace.ErrVersion, 0, "nettrace 7, supported are 4, 5 and 6"},
		{"frequency", set(six, 24+24, make([]byte, 8)...), nettrace.ErrFormat, 20, "tick frequency 0"},
		{"pointer size", set(six, 24+32, 5), nettrace.ErrFormat, 20, "pointer size 5, want 4 or 8"},
		{"tags", set(four, 32+3+12+5+1+48+1, 9), nettrace.ErrFormat, 102, "tags 9 5 1 where a block must begin"},
		{"end of trace", set(four, 32+3+12+5+1+48, 7), nettrace.ErrFormat, 101, "tag 7 at the end of a block, want 6"},
		{"negative size", set(four, block, negative...), nettrace.ErrFormat, int64(block - 16 - len("MetadataBlock")), "block of -2147483648 bytes"},
		{"kind", set(six, 23, 2), nettrace.ErrFormat, 20, "block of kind 2 where the trace must be"},
		{"second trace", append(bytes.Clone(six[:len(six)-4]), six[20:]...), nettrace.ErrFormat, int64(len(six)), "second trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := nettrace.NewReader(bytes.NewReader(c.stream), nettrace.Options{})
			if err == nil {
				_, err = readAll(t, r)
			}
			var place *nettrace.Error
			if !errors.Is(err, c.kind) || !errors.As(err, &place) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want %v: %s", err, c.kind, c.text)
			}
			if place.Offset != c.offset {
				t.Errorf("got %v, want it at %d", err, c.offset)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

// TestPromise does not allocate what a header promises and the stream does not
// hold.
func TestPromise(t *testing.T) {
	w := nettracetest.New(nettracetest.Options{Version: 6})
	stream := append(w.Bytes(), 0xff, 0xff, 0xff, 2, 20, 0, 1, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := read(t, stream, nettrace.Options{Limits: nettrace.FileLimits()})
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("allocated %d bytes for a stream of %d, %v", got, len(stream), err)
	}
}

// TestInstant scales ticks exactly.
func TestInstant(t *testing.T) {
	for _, c := range []struct {
		f    nettrace.Frequency
		t    nettrace.Ticks
		want int64
	}{
		{1e9, 1642847916847, 1642847916847},
		{1e7, 5105990140369, 510599014036900},
		{3124099, 3124099 * 1000, 1000e9},
		{3124099, 1, 320},             // 320.092...
		{3124099, 1 << 62, 1<<63 - 1}, // clamped, see below
		{1, 1 << 40, (1<<63 - 1)},     // clamped
		{2, 3, 15e8},
		{1e9, 1<<64 - 1, 1<<63 - 1},
		{1, 1<<64 - 1, 1<<63 - 1},
	} {
		want := min(c.want, (1<<63-1)/4)
		if got := int64(c.f.Instant(c.t)); got != want {
			t.Errorf("%d ticks of %d Hz: got %d, want %d", c.t, c.f, got, want)
		}
	}
}
