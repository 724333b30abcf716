package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var compareMaybe = cmp.Exporter(func(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Maybe[") })

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// by is a preemption.
func by(name string, tid int32) jitterprobe.Evidence {
	return jitterprobe.Evidence{Witness: jitterprobe.SwitchRecord, Time: 20, Count: 1, TID: tid, Name: name, Moved: tid == 7}
}

// sample is one of each record.
func sample() []Record {
	return []Record{
		Environment{Recorder: "sidecar v1", BootID: "b", Started: time.Unix(7, 5).UTC(), At: 100, Machine: "m", OS: "o", Workload: "w"},
		Probe{ID: 2, Mode: "periodic", CPU: -1, Floor: 1000, Target: 1, Note: "n"},
		Target{ID: 1, PID: 42, Name: "x", Runtime: "go", Facts: map[string]string{"GOGC": "100"}, At: 101},
		Gaps{Probe: 2, List: []Gap{
			{Start: 200, End: 300, Cause: stall.HostUnknown, Scope: stall.ScopeCPU, CPU: 3},
			{Start: 150, End: 150, Cause: stall.RuntimeUnknown, Scope: stall.ScopeProcess, CPU: -1, Evidence: jitterprobe.Evidence{Witness: jitterprobe.RuntimeDoor}},
			{Start: 310, End: 360, Cause: stall.HostPreempted, CPU: 3, Evidence: by("kworker/1:0", 321)},
			{Start: 400, End: 420, Cause: stall.HostPreempted, CPU: 3, Evidence: by("sshd", 7)},
			{Start: 450, End: 470, Cause: stall.HostPreempted, CPU: 3, Evidence: by("kworker/1:0", 321)},
			{Start: 500, End: 900, Cause: stall.HostIRQ, CPU: 3, Evidence: jitterprobe.Evidence{Witness: jitterprobe.Tracepoint, Time: 390, Count: 2, Name: "local_timer"}},
		}},
		Gaps{Probe: 1, Bare: true, List: []Gap{{Start: 1000, End: 2000, Cause: stall.HostSteal, Scope: stall.ScopeMachine, CPU: -1}}},
		Collection{1, gc.Collection{
			Index: 9, Cycles: 1, Kind: gc.Ephemeral, Trigger: "AllocSmall", Start: gc.Known(stall.Instant(210)),
			Pauses: []gc.Pause{{Start: 210, End: 220, EndMax: 225, Suspend: gc.Known(3 * time.Nanosecond)}}, Promoted: gc.Known(gc.Bytes(0)),
		}},
		Suspension{Target: 1, Start: 400, End: 500, Reason: "Other", Caller: "f"},
		Status{Source: "probe.spin", Probe: 2, At: 600, Watermark: 590, Dropped: 2, DroppedTime: 30, Unrecorded: 1},
		Doctor{json.RawMessage(`{"schema":"otelgc.doctor/1"}`)},
		End{700},
	}
}

// written returns the bytes of a recording.
func written(t testing.TB, records []Record) []byte {
	t.Helper()
	b := []byte(Magic)
	for _, r := range records {
		body, err := encode(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		b = appendFrame(b, r.kind(), body)
	}
	return b
}

func readAll(t testing.TB, data []byte) (list []Record, err error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for {
		record, err := r.Next()
		if err != nil {
			return list, err
		}
		list = append(list, record)
	}
}

func TestThrough(t *testing.T) {
	got, err := readAll(t, written(t, sample()))
	if err != io.EOF {
		t.Errorf("the end is %v, want io.EOF", err)
	}
	if diff := cmp.Diff(sample(), got, compareMaybe); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

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
		{"zeros", append([]byte(Magic), make([]byte, 64)...), ErrFormat, "record of 0 bytes"},
		{"JSON", frame(KindEnd, "{"), ErrFormat, "byte 19"},
		{"evidence of no witness", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x80"), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"evidence of a witness to come", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x7f\x00\x00\x00\x00"), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"a name that was not said", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x06\x00\x00\x00\x02\x01a"), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"a long name", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x06\x00\x00\x00\x01\x41"+strings.Repeat("a", 65)), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"a name that is cut off", frame(KindGaps, "\x01\x01\x02\x01\x01\x01\x01\x06\x00\x00\x00\x01\x02a"), ErrFormat, "gap 1 of 1 is cut off or out of range"},
		{"bare gaps with evidence", frame(KindBareGaps, "\x01\x01\x02\x01\x01\x01\x01\x00"), ErrFormat, "1 bytes behind"},
		{"many gaps", frame(KindGaps, "\x01\xff\x7f"), ErrFormat, "16383 gaps in 3 bytes"},
		{"gaps of nobody", frame(KindGaps, ""), ErrFormat, "0 bytes are not a probe"},
		{"gaps of a probe of a large number", frame(KindGaps, "\xff\xff\x7f\x00"), ErrFormat, "not a probe of at most 4096"},
		{"gap backwards", frame(KindGaps, "\x01\x01\x03\x01\x01\x01\x01\x00"), ErrFormat, "gap 1 from"},
		{"gap of no cause", frame(KindGaps, "\x01\x01\x02\x01\xff\x01\x01\x00"), ErrFormat, "cause 255"},
		{"behind gaps", frame(KindGaps, "\x01\x00\x00"), ErrFormat, "1 bytes behind"},
		{"kind of collection", frame(KindCollection, `{"kind":"x"}`), ErrFormat, `kind "x"`},
		{"behind the end", append(frame(KindEnd, "{}"), frame(KindEnd, "{}")[len(Magic):]...), ErrFormat, "behind the end"},
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
	if err == nil {
		t.Fatal("no end")
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
		list.List = append(list.List, Gap{Start: stall.Instant(i%2) * maxInstant, End: maxInstant, CPU: math.MaxInt32, Evidence: e})
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

func TestWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.rec")
	records := sample()
	w, err := Create(path, records[0].(Environment))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, Environment{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "name another") {
		t.Errorf("a second recording in one file: %v", err)
	}
	var wg sync.WaitGroup
	const n = 40_000 // more than one record of gaps
	wg.Go(func() {
		for i := range n {
			w.Gap(i%3, Gap{
				Start: stall.Instant(i) * 10, End: stall.Instant(i)*10 + 1 + stall.Instant(rand.IntN(5)),
				Cause: stall.HostPreempted, Scope: stall.ScopeCPU, Evidence: by("kworker/1:0", 321),
			})
		}
	})
	wg.Go(func() {
		for _, r := range records[1:3] {
			w.Add(r)
		}
	})
	wg.Wait()
	w.Add(End{1})
	if err := errors.Join(w.Close(), w.Close()); err != nil || w.Dropped() != 0 {
		t.Fatalf("close: %v, %d dropped", err, w.Dropped())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, data)
	if err != io.EOF {
		t.Fatalf("the end is %v, want io.EOF", err)
	}
	gaps, others := 0, 0
	of := [3]int{}
	for _, r := range got {
		if g, ok := r.(Gaps); ok {
			gaps += len(g.List)
			for _, v := range g.List {
				if want := stall.Instant(10 * (3*of[g.Probe] + g.Probe)); v.Start != want {
					t.Fatalf("gap %d of probe %d: starts at %d, want %d", of[g.Probe], g.Probe, v.Start, want)
				}
				of[g.Probe]++
			}
		} else {
			others++
		}
	}
	if gaps != n || others != 4 {
		t.Errorf("%d gaps and %d other records, want %d and 4", gaps, others, n)
	}
	if perGap := float64(len(data)) / n; perGap > 12 {
		t.Errorf("%.1f bytes per gap, want 12 or less", perGap)
	}
}

func TestDescribe(t *testing.T) {
	root := fstest.MapFS{
		"proc/cpuinfo":              {Data: []byte("processor\t: 0\nmodel name\t: Some CPU @ 2GHz\n\nprocessor\t: 1\nmodel name\t: Some CPU @ 2GHz\n")},
		"proc/meminfo":              {Data: []byte("MemTotal:        8029712 kB\nMemFree: 1 kB\n")},
		"proc/sys/kernel/osrelease": {Data: []byte("6.18.0\n")},
		"etc/os-release":            {Data: []byte("NAME=\"Debian\"\nPRETTY_NAME=\"Debian 13\"\n")},
	}
	machine, system := Describe(root)
	if want := "Some CPU @ 2GHz, 2 CPUs online, 7.7 GiB of memory"; machine != want {
		t.Errorf("machine %q, want %q", machine, want)
	}
	if want := "Debian 13, Linux 6.18.0"; system != want {
		t.Errorf("system %q, want %q", system, want)
	}
	if machine, system := Describe(fstest.MapFS{}); machine != "" || system != "" {
		t.Errorf("of nothing: %q, %q, want nothing", machine, system)
	}
}
