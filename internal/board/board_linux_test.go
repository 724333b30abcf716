package board

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/otelgc/otelgc/stall"
)

// gap returns the i-th of a series of intervals of 1 us, 10 us apart.
func gap(i int) stall.Interval {
	start := stall.Instant(1e9 + 10_000*i)
	return stall.Interval{
		Start: start, End: start + 1000, Slack: 30,
		Cause: stall.HostUnknown, Origin: stall.ProbeSpin, Scope: stall.ScopeCPU, CPU: 1,
	}
}

func gaps(from, to int) []stall.Interval {
	var v []stall.Interval
	for i := from; i < to; i++ {
		v = append(v, gap(i))
	}
	return v
}

func testPath(t *testing.T) string { return filepath.Join(t.TempDir(), "otelgc", "board") }

func create(t *testing.T, path string) *Writer {
	t.Helper()
	w, err := Create(WriterOptions{Paths: []string{path}, Slots: 64, Source: stall.ProbeSpin, CPUs: []int{1, 9}, Since: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func open(t *testing.T, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// write appends records from to to-1 and advances to the end of the last.
func write(t *testing.T, w *Writer, from, to int) {
	t.Helper()
	for _, v := range gaps(from, to) {
		if err := w.Append(v); err != nil {
			t.Fatal(err)
		}
	}
	w.Advance(gap(to-1).End, 0, 0)
}

func read(t *testing.T, r *Reader) ([]stall.Interval, Status) {
	t.Helper()
	got, status, err := r.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	return got, status
}

func TestReadGetsWhatWasAppended(t *testing.T) {
	path := testPath(t)
	w := create(t, path)
	throttled := gap(0)
	throttled.Cause, throttled.Scope = stall.HostThrottled, stall.ScopeCgroup
	throttled.Owner = stall.Owner{Cgroup: 42, PID: -7, Created: 1 << 63}
	if err := w.Append(throttled); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if got, _ := read(t, r); len(got) != 0 {
		t.Errorf("before Advance: got %d records, want none", len(got))
	}
	w.Advance(2e9, 3, time.Second)
	got, status := read(t, r)
	if diff := cmp.Diff([]stall.Interval{throttled}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	h := r.tape.header
	want := Status{Since: 1e9, Watermark: 2e9, Unseen: []stall.Span{{Start: 1e9, End: 2e9}}, Generation: h.Generation}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if h.PID != int32(os.Getpid()) || h.Created == 0 || h.Created != processCreated() || h.Source != stall.ProbeSpin || h.CPUs != [128]byte{2, 2} {
		t.Errorf("header %+v", h)
	}
	if l := r.tape.live; l.Dropped != 3 || l.DroppedTime != time.Second {
		t.Errorf("dropped %d in %v, want 3 in 1s", l.Dropped, l.DroppedTime)
	}
	if got, _ := read(t, r); len(got) != 0 {
		t.Errorf("second read: got %d records, want none", len(got))
	}
}

func TestReaderOvertakenByTheRingSaysSo(t *testing.T) {
	path := testPath(t)
	w := create(t, path)
	r := open(t, path)
	write(t, w, 0, 10)
	read(t, r)
	write(t, w, 10, 10+64+5)
	got, status := read(t, r)
	if diff := cmp.Diff(gaps(15, 79), got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if status.Lost != 5 {
		t.Errorf("lost: got %d, want 5", status.Lost)
	}
	want := []stall.Span{{Start: gap(9).End, End: gap(78).End}}
	if diff := cmp.Diff(want, status.Unseen); diff != "" {
		t.Errorf("unseen (-want +got):\n%s", diff)
	}
}

func TestReaderThatComesLateHasLostNothing(t *testing.T) {
	path := testPath(t)
	w := create(t, path)
	write(t, w, 0, 100)
	got, status := read(t, open(t, path))
	if diff := cmp.Diff(gaps(36, 100), got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if status.Lost != 0 || status.Since != gap(36).End {
		t.Errorf("lost %d, since %d; want 0, %d", status.Lost, status.Since, gap(36).End)
	}
}

func TestReaderFollowsANewWriter(t *testing.T) {
	path := testPath(t)
	first := create(t, path)
	r := open(t, path)
	write(t, first, 0, 4)
	_, before := read(t, r)
	write(t, first, 4, 6)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Create(WriterOptions{Paths: []string{path}, Slots: 64, Source: stall.ProbePeriodic, Since: gap(9).Start})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	write(t, second, 10, 12)
	got, status := read(t, r)
	if diff := cmp.Diff(append(gaps(4, 6), gaps(10, 12)...), got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if status.Generation == before.Generation || r.tape.Source != stall.ProbePeriodic {
		t.Errorf("generation %d after %d, source %v; want another, probe.periodic", status.Generation, before.Generation, r.tape.Source)
	}
	want := []stall.Span{{Start: gap(5).End, End: gap(9).Start}}
	if diff := cmp.Diff(want, status.Unseen); diff != "" {
		t.Errorf("unseen (-want +got):\n%s", diff)
	}
	if _, again := read(t, r); again.Generation != status.Generation {
		t.Error("restarted twice")
	}
}

func TestClosedBoardCanStillBeRead(t *testing.T) {
	path := testPath(t)
	w := create(t, path)
	r := open(t, path)
	write(t, w, 0, 3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, status := read(t, r)
	if len(got) != 3 || !r.tape.live.Closed || status.Watermark != gap(2).End {
		t.Errorf("got %d records, closed %v, watermark %d; want 3, true, %d", len(got), r.tape.live.Closed, status.Watermark, gap(2).End)
	}
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: got error %v, want %v", err, fs.ErrNotExist)
	}
}
