package board

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/otelgc/otelgc/stall"
	"golang.org/x/sys/unix"
)

// A record that the writer has overwritten but not yet published is lost to a
// reader that was about to read it.
func TestRecordOverwrittenBeforeAdvanceIsLost(t *testing.T) {
	path := testPath(t)
	w := create(t, path)
	r := open(t, path)
	write(t, w, 0, 64)
	for _, v := range gaps(64, 67) {
		if err := w.Append(v); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.flush())
	got, status := read(t, r)
	if diff := cmp.Diff(gaps(3, 64), got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if status.Lost != 3 || len(status.Unseen) != 1 {
		t.Errorf("lost %d, unseen %v; want 3 and one span", status.Lost, status.Unseen)
	}
}

// What cannot be written is held, refused when there is too much of it, and
// written when that works again; readers see no watermark meanwhile.
func TestWriterHoldsWhatItCannotWrite(t *testing.T) {
	path := testPath(t)
	w, err := Create(WriterOptions{Paths: []string{path}, Slots: 2 * maxHeld, Source: stall.ProbeSpin, Since: 1e9})
	must(t, err)
	defer func() { must(t, w.Close()) }()
	write(t, w, 0, 2)
	r := open(t, path)
	read(t, r)

	file := w.file
	w.file, err = os.Open(path) // cannot be written
	must(t, err)
	write(t, w, 2, 2+maxHeld)
	if err := w.Append(gap(2 + maxHeld)); !errors.Is(err, unix.EBADF) {
		t.Errorf("one record too many: got error %v, want %v", err, unix.EBADF)
	}
	if got, status := read(t, r); len(got) != 0 || status.Watermark != gap(1).End {
		t.Errorf("meanwhile: got %d records, watermark %d; want none, %d", len(got), status.Watermark, gap(1).End)
	}
	must(t, w.file.Close())
	w.file = file
	write(t, w, 2+maxHeld, 3+maxHeld)
	got, status := read(t, r)
	if diff := cmp.Diff(gaps(2, 3+maxHeld), got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if status.Lost != 0 || status.Watermark != gap(2+maxHeld).End {
		t.Errorf("lost %d, watermark %d; want none, %d", status.Lost, status.Watermark, gap(2+maxHeld).End)
	}
}
