package board

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/otelgc/otelgc/stall"
	"golang.org/x/sys/unix"
)

// A writer that died leaves its file and its lock's file: neither stops the
// next one, and all that a reader sees is a watermark that stands.
func TestDeadWriterIsReplaced(t *testing.T) {
	path := testPath(t)
	dead := create(t, path)
	write(t, dead, 0, 3)
	r := open(t, path)
	if err := dead.files.lock.Close(); err != nil { // what the kernel does
		t.Fatal(err)
	}
	_, before := read(t, r)
	if r.tape.live.Closed || before.Watermark != gap(2).End {
		t.Errorf("closed %v, watermark %d; want false, %d", r.tape.live.Closed, before.Watermark, gap(2).End)
	}
	create(t, path)
	if _, status := read(t, r); status.Generation == before.Generation {
		t.Error("new writer: not noticed")
	}
	dead.file = nil
}

func TestOneWriter(t *testing.T) {
	path := testPath(t)
	create(t, path)
	if _, err := Create(WriterOptions{Paths: []string{path}, Source: stall.ProbeSpin}); !errors.Is(err, ErrLocked) {
		t.Errorf("second writer: got error %v, want %v", err, ErrLocked)
	}
}

// TestCreateTakesNoPlaceOfAnother: a file that is no board stays what it was.
func TestCreateTakesNoPlaceOfAnother(t *testing.T) {
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes")
	if err := os.WriteFile(notes, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(notes, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{notes, link, dir} {
		if w, err := Create(WriterOptions{Paths: []string{path}, Slots: 64, Source: stall.ProbeSpin}); !errors.Is(err, ErrForeign) {
			t.Errorf("Create(%s) = %v, %v, want ErrForeign", path, w, err)
		}
	}
	if text, err := os.ReadFile(notes); err != nil || string(text) != "keep" {
		t.Errorf("the file holds %q (%v), want what it held", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v (%v), want the two files that were there", left, err)
	}
}

func TestModes(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	path := testPath(t)
	create(t, path)
	for name, want := range map[string]fs.FileMode{path: 0o644, filepath.Dir(path): 0o755} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %v, want %v", name, got, want)
		}
	}
}
