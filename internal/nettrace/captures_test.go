package nettrace_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/nettrace"
)

// seen is an event without its memory.
type seen struct {
	Provider, Name string
	ID, Version    int
	Ticks          nettrace.Ticks
	Thread         uint64
	PID            int
	Payload        string
	Lost           uint64
	Since          nettrace.Ticks
}

func see(e *nettrace.Event) seen {
	return seen{e.Provider, e.Name, e.ID, e.Version, e.Ticks, e.Thread, e.PID, string(e.Payload), e.Lost, e.LostSince}
}

// readAll returns all events of a stream, and the error that ended it.
func readAll(t testing.TB, r *nettrace.Reader) ([]seen, error) {
	t.Helper()
	var list []seen
	for {
		e, err := r.Next()
		if (e == nil) == (err == nil) {
			t.Fatalf("got event %v and error %v, want one of them", e, err)
		}
		if err != nil {
			if _, again := r.Next(); again != err {
				t.Fatalf("got %v after %v, want it again", again, err)
			}
			return list, err
		}
		list = append(list, see(e))
	}
}

func read(t testing.TB, stream []byte, o nettrace.Options) ([]seen, *nettrace.Reader, error) {
	t.Helper()
	r, err := nettrace.NewReader(bytes.NewReader(stream), o)
	if err != nil {
		t.Fatal(err)
	}
	list, err := readAll(t, r)
	return list, r, err
}

func capture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".nettrace"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCaptures reads streams of real processes. The number of events is what an
// independent decoder counted; nothing was lost, and all are in order.
func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		name   string
		events int
		pid    int
		end    error
	}{
		{"collect5", 47, 7747, io.EOF},
		{"default", 637, 15276, io.EOF},
		{"default_forced", 670, 16082, io.EOF},
		{"gen0_256k", 1253, 15394, io.EOF},
		{"hardlimit", 543, 28480, io.EOF},
		{"level5", 537, 24505, io.EOF},
		{"loh", 434, 22506, io.EOF},
		{"nonconc", 372, 24140, io.EOF},
		{"server", 428, 300, io.EOF},
		{"server_datas", 454, 31884, io.EOF},
		{"server_nonconc", 175, 2735, io.ErrUnexpectedEOF},
		{"target_sigkill", 51, 1463, io.ErrUnexpectedEOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, r, err := read(t, capture(t, c.name), nettrace.Options{})
			if !errors.Is(err, c.end) {
				t.Errorf("end: got %v, want %v", err, c.end)
			}
			if len(list) != c.events || r.Stats() != (nettrace.Stats{Events: uint64(c.events)}) {
				t.Errorf("got %d events, %+v, want %d and nothing else", len(list), r.Stats(), c.events)
			}
			if !slices.IsSortedFunc(list, func(a, b seen) int { return int(a.Ticks) - int(b.Ticks) }) {
				t.Error("events are not in the order of time")
			}
			h := r.Header()
			if h.Version != 4 || h.PointerSize != 8 || h.Frequency != 1e9 || h.PID != c.pid || h.Processors != 2 {
				t.Errorf("header: got %+v", h)
			}
			if first := list[0].Ticks; first < h.SyncTicks || first > h.SyncTicks+60e9 {
				t.Errorf("first event at %d, stream began at %d", first, h.SyncTicks)
			}
		})
	}
}

// baselineIDs are the events that the baseline names and that come without a
// name.
var baselineIDs = map[int]string{
	146: "Method/DCStopComplete", 148: "Method/DCStopInit", 152: "Loader/DomainModuleDCStop", 154: "Loader/ModuleDCStop",
	156: "Loader/AssemblyDCStop", 158: "Loader/AppDomainDCStop", 187: "Runtime/Start",
}

// TestBaseline reads a fixture of PerfView's own tests, from Windows, with the
// tags of format 5: the counts of events are those of its baseline.
func TestBaseline(t *testing.T) {
	list, r, err := read(t, capture(t, "perfview-5.0-arraytypes"), nettrace.Options{})
	if err != io.EOF || r.Stats().Lost != 0 || r.Header().Frequency != 1e7 {
		t.Errorf("got %v, %+v, %+v", err, r.Stats(), r.Header())
	}
	got := make(map[string]int)
	for _, e := range list {
		switch name, known := baselineIDs[e.ID]; {
		case e.Name == "TestEvent3":
			got[e.Provider+"/TestEvent3/24"]++ // PerfView adds the opcode
		case e.Name != "":
			got[e.Provider+"/"+e.Name]++
		case known:
			got[e.Provider+"/"+name]++
		}
	}
	f, err := os.Open("testdata/perfview-5.0-arraytypes.baseline.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := make(map[string]int)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		part := strings.SplitN(strings.TrimPrefix(lines.Text(), "\ufeff"), ", ", 3)
		if want[part[0]], err = strconv.Atoi(part[1]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 11 {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// TestPieces reads a stream that arrives in pieces of any size.
func TestPieces(t *testing.T) {
	stream := capture(t, "loh")
	want, _, _ := read(t, stream, nettrace.Options{})
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "error with data": iotest.DataErrReader,
	} {
		r, err := nettrace.NewReader(wrap(bytes.NewReader(stream)), nettrace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, r)
		if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestCut cuts streams at any byte: what was whole is handed out, one event
// more for each that became whole, and then the place of the cut.
func TestCut(t *testing.T) {
	streams := map[string][]byte{"collect5": capture(t, "collect5"), "target_sigkill": capture(t, "target_sigkill")}
	for name, o := range formats {
		streams[name] = synthetic(o)
	}
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			want := make(map[seen]int)
			whole, _, end := read(t, stream, nettrace.Options{})
			for _, e := range whole {
				want[e]++
			}
			last := 0
			for n := range len(stream) {
				last = checkCut(t, stream[:n], want, last)
			}
			if end == io.EOF && last != len(whole) {
				t.Errorf("all but the end tag: got %d events, want %d", last, len(whole))
			}
		})
	}
}

func checkCut(t *testing.T, stream []byte, want map[seen]int, last int) int {
	t.Helper()
	r, err := nettrace.NewReader(bytes.NewReader(stream), nettrace.Options{})
	var list []seen
	if err == nil {
		list, err = readAll(t, r)
	}
	var place *nettrace.Error
	if !errors.As(err, &place) || !errors.Is(err, io.ErrUnexpectedEOF) || place.Offset != int64(len(stream)) {
		t.Fatalf("cut at %d: got %v, want an unexpected EOF there", len(stream), err)
	}
	got := make(map[seen]int)
	for _, e := range list {
		got[e]++
	}
	for e, n := range got {
		if n > want[e] {
			t.Fatalf("cut at %d: got %+v %d times, the whole stream has it %d times", len(stream), e, n, want[e])
		}
	}
	if len(list) < last || len(list) > last+1 {
		t.Fatalf("cut at %d: got %d events, %d before that byte", len(stream), len(list), last)
	}
	return len(list)
}
