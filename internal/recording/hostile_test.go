package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// TestCrash cuts a recording at every byte: all whole records are read, and the
// end is a truncation with the place of the record that is not whole.
func TestCrash(t *testing.T) {
	var ends []int
	data := []byte(Magic)
	for _, r := range sample() {
		ends = append(ends, len(data))
		body, err := encode(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		data = appendFrame(data, r.kind(), body)
	}
	for n := len(Magic); n < len(data); n++ {
		got, err := readAll(t, data[:n])
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= n {
			whole++
		}
		var placed *Error
		if len(got) != whole || !errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &placed) || placed.Offset != int64(ends[whole]) {
			t.Fatalf("cut to %d of %d bytes: %d records and %v, want %d and a truncation at byte %d", n, len(data), len(got), err, whole, ends[whole])
		}
	}
}

// TestPowerCut writes over the last bytes of a recording with zeros, and adds
// some: from the record on in which they begin it is cut off.
func TestPowerCut(t *testing.T) {
	data, records := written(t, sample()), len(sample())
	for zeros := 1; zeros < 40; zeros++ {
		cut := append(bytes.Clone(data[:len(data)-zeros]), make([]byte, zeros+4096)...)
		got, err := readAll(t, cut)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) >= records {
			t.Fatalf("%d bytes are zeros: %d of %d records and %v, want fewer and a truncation", zeros, len(got), records, err)
		}
		cut[len(cut)-1] = 1
		if _, err := readAll(t, cut); !errors.Is(err, ErrFormat) {
			t.Fatalf("%d bytes are zeros, and one behind them is not: %v, want %v", zeros, err, ErrFormat)
		}
	}
}

// TestDamage turns over every bit: nothing that was not written is read.
func TestDamage(t *testing.T) {
	whole := written(t, sample())
	for i := len(Magic); i < len(whole); i++ {
		data := bytes.Clone(whole)
		data[i] ^= 1 << (i % 8)
		got, err := readAll(t, data)
		if err == io.EOF {
			t.Fatalf("byte %d is not as it was, and the end is io.EOF", i)
		}
		if diff := cmp.Diff(append([]Record(nil), sample()[:len(got)]...), got, compareMaybe); diff != "" {
			t.Fatalf("byte %d is not as it was (-want +got):\n%s", i, diff)
		}
	}
}

func TestRefuse(t *testing.T) {
	frame := func(kind Kind, body string) []byte { return appendFrame([]byte(Magic), kind, []byte(body)) }
	tests := []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"nothing", nil, ErrFormat, "does not begin with"},
		{"other", []byte("hello, world, this is a text"), ErrFormat, "byte 0"},
		{"version", []byte("otelgc recording 2\n"), ErrVersion, `"otelgc recording 2"`},
		{"long", append([]byte(Magic), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0), ErrFormat, "record of 4294967295 bytes, want 1 to"},
		{"zeros", append(append([]byte(Magic), make([]byte, 64)...), 1), ErrFormat, "record of 0 bytes"},
		{"cut within the version", []byte("otelgc recording 1"), io.ErrUnexpectedEOF, "byte 18: unexpected EOF: it ends within its first line"},
		{"JSON", frame(KindEnd, "{"), ErrFormat, "byte 19"},
		{"evidence of no witness", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x80"), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"evidence of a witness to come", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x7f\x00\x00\x00\x00"), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"a name that was not said", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x06\x00\x00\x00\x02\x01a"), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"a long name", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x06\x00\x00\x00\x01\x41"+strings.Repeat("a", 65)), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"a name that is cut off", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x06\x00\x00\x00\x01\x02a"), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"many gaps", frame(KindGaps, "\x01\xff\x7f"), ErrFormat, "16383 gaps in 3 bytes"},
		{"gaps of nobody", frame(KindGaps, ""), ErrFormat, "0 bytes are not a probe"},
		{"gaps of a probe of a large number", frame(KindGaps, "\xff\xff\x7f\x00"), ErrFormat, "not a probe of at most 4096"},
		{"gap backwards", frame(KindGaps, "\x01\x01\x03\x01\x01\x01\x01\x00"), ErrFormat, "gap 1 from"},
		{"gap of no cause", frame(KindGaps, "\x01\x01\x02\x01\xff\x01\x01\x00"), ErrFormat, "cause 255"},
		{"behind gaps", frame(KindGaps, "\x01\x00\x00"), ErrFormat, "1 bytes behind"},
		{"kind of collection", frame(KindCollection, `{"kind":"x"}`), ErrFormat, `kind "x"`},
		{"an instant to come", frame(KindStatus, `{"watermark":9000000000000000000}`), ErrFormat, "instant of 9000000000000000000 ns"},
		{"an instant before", frame(KindEnd, `{"at":-1}`), ErrFormat, "instant of -1 ns"},
		{"a long time unseen", frame(KindStatus, `{"unseen":9000000000000000000}`), ErrFormat, "time of 9000000000000000000 ns"},
		{"a long wait", frame(KindHost, `{"run_delay":9000000000000000000}`), ErrFormat, "time of 9000000000000000000 ns"},
		{"a long stop", frame(KindSuspension, `{"start":1,"end":9000000000000000000}`), ErrFormat, "instant of 9000000000000000000 ns"},
		{"a stop backwards", frame(KindSuspension, `{"start":2,"end":1}`), ErrFormat, "from 2 to 1"},
		{"a collection to come", frame(KindCollection, `{"kind":"ephemeral","pause_utilization_since":9000000000000000000,"pauses":[]}`), ErrFormat, "instant of 9000000000000000000 ns"},
		{"a pause backwards", frame(KindCollection, `{"kind":"background","pauses":[{"start":2,"end":1,"end_max":3,"phase":"unknown"}]}`), ErrFormat, "from 2 to 1"},
		{"a pause that ends before its end", frame(KindCollection, `{"kind":"background","pauses":[{"start":2,"end":1,"end_max":1,"phase":"unknown"}]}`), ErrFormat, "from 2 to 1"},
		{"a pause with a slack below zero", frame(KindCollection, `{"kind":"background","pauses":[{"start":2,"end":3,"end_max":3,"slack":-1,"phase":"unknown"}]}`), ErrFormat, "time of -1 ns"},
		{"a collection before the clock", frame(KindCollection, `{"kind":"background","start":-1}`), ErrFormat, "instant of -1 ns"},
		{"a collection that does not end", frame(KindCollection, `{"kind":"background","end":9223372036854775807}`), ErrFormat, "instant of 9223372036854775807 ns"},
		{"behind the end", append(frame(KindEnd, "{}"), frame(KindEnd, "{}")[len(Magic):]...), ErrFormat, "behind the end"},
		{"a few bytes behind the end", append(frame(KindEnd, "{}"), "junk\n"...), ErrFormat, "behind the end"},
	}
	for _, tt := range tests {
		_, err := readAll(t, tt.data)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %v with %q", tt.name, err, tt.want, tt.text)
		}
	}
}

func TestKindsOfALaterVersionAreSkipped(t *testing.T) {
	data := appendFrame([]byte(Magic), 99, []byte("what is to come"))
	data = append(data, written(t, []Record{End{5}})[len(Magic):]...)
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Next(); err != nil || got != (End{5}) || r.Unknown() != 1 {
		t.Errorf("record %v, error %v, %d skipped, want the end and 1", got, err, r.Unknown())
	}
}

// FuzzReader takes a file as it is, and a record's kind and payload, which a
// checksum would keep the fuzzer from.
func FuzzReader(f *testing.F) {
	f.Add(written(f, sample()))
	for _, r := range sample() {
		body, err := encode(nil, r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append([]byte{byte(r.kind())}, body...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		through(t, data)
		if len(data) > 0 {
			through(t, appendFrame([]byte(Magic), Kind(data[0]), data[1:]))
		}
	})
}

// through reads, writes what was read, and reads again.
func through(t *testing.T, data []byte) {
	t.Helper()
	list, err := readAll(t, data)
	var placed *Error
	switch {
	case err == io.EOF:
	case !errors.As(err, &placed) || placed.Offset < 0 || placed.Offset > int64(len(data)) || strings.Contains(err.Error(), "\n"):
		t.Fatalf("got %v, want one line with a place in %d bytes", err, len(data))
	case !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrVersion):
		t.Fatalf("got %v, want a truncation, a broken recording or a version", err)
	}
	again, _ := readAll(t, written(t, list))
	if diff := cmp.Diff(list, again, compareMaybe, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("read, written, read (-want +got):\n%s", diff)
	}
}

// TestEvidenceIsBounded: a name is cut, what cannot be is none, and no evidence
// makes a record too long to be written.
func TestEvidenceIsBounded(t *testing.T) {
	long := strings.Repeat("x", MaxName+1)
	most := jitterprobe.Evidence{Witness: jitterprobe.NumWitnesses - 1, Time: maxInstant, Count: math.MaxInt32, TID: math.MaxInt32, Moved: true}
	list := Gaps{Probe: MaxProbes}
	for i := range gapsOfRecord {
		e := most
		e.Name = fmt.Sprintf("%06d%s", i, long)
		list.List = append(list.List, jitterprobe.Gap{Interval: stall.Interval{Start: stall.Instant(i%2) * maxInstant, End: maxInstant, CPU: math.MaxInt32}, Evidence: e})
	}
	list.List[0].Evidence = jitterprobe.Evidence{Witness: jitterprobe.Remainder, Time: -1, Count: -1, TID: -1}
	body, err := encode(nil, list)
	if err != nil || len(body) >= MaxRecord {
		t.Fatalf("a record of %d bytes, error %v, want less than %d", len(body), err, MaxRecord)
	}
	got, err := parse(KindGaps, body)
	if err != nil {
		t.Fatal(err)
	}
	back := got.(Gaps).List
	if want := (jitterprobe.Evidence{Witness: jitterprobe.Remainder}); back[0].Evidence != want {
		t.Errorf("got %+v, want %+v", back[0].Evidence, want)
	}
	most.Name = ("000001" + long)[:MaxName]
	if back[1].Evidence != most {
		t.Errorf("got %+v, want %+v", back[1].Evidence, most)
	}
}
