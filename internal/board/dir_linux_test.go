package board

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// stranger is a user who is neither root nor whoever runs the tests.
const stranger = 12345

func chown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: changing an owner needs root")
	}
	must(t, os.Lchown(path, stranger, stranger))
}

// ownDir returns an empty directory that nobody else may write, whatever the umask.
func ownDir(t *testing.T) string {
	t.Helper()
	d := t.TempDir()
	must(t, os.Chmod(d, 0o755))
	return d
}

// TestDirectoryRefused: where somebody else can put another board in the place of
// the one that is meant, nobody writes one, and nobody believes one.
func TestDirectoryRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, top string) // with top/way/otelgc/board
		text  string
	}{
		{"the directory is a link", func(t *testing.T, top string) {
			must(t, os.Rename(top+"/way/otelgc", top+"/way/real"))
			must(t, os.Symlink("real", top+"/way/otelgc"))
		}, "way/otelgc is a symbolic link to "},
		{"a directory on the way is a link", func(t *testing.T, top string) {
			must(t, os.Rename(top+"/way", top+"/real"))
			must(t, os.Symlink(top+"/real", top+"/way"))
		}, "way is a symbolic link to "},
		{"its group may write the directory", func(t *testing.T, top string) {
			must(t, os.Chmod(top+"/way/otelgc", 0o775))
		}, "way/otelgc (mode 0775): chmod go-w"},
		{"all may write the directory", func(t *testing.T, top string) {
			must(t, os.Chmod(top+"/way/otelgc", 0o757))
		}, "way/otelgc (mode 0757): chmod go-w"},
		{"all may write the directory, which is sticky", func(t *testing.T, top string) {
			must(t, unix.Chmod(top+"/way/otelgc", 0o1777))
		}, "way/otelgc (mode 1777): name a directory below it"},
		{"its group may write a directory on the way", func(t *testing.T, top string) {
			must(t, os.Chmod(top+"/way", 0o775))
		}, "way (mode 0775): chmod go-w"},
		{"somebody else made the directory", func(t *testing.T, top string) {
			chown(t, top+"/way/otelgc")
		}, "way/otelgc belongs to uid 12345, want root: remove it"},
		{"somebody else made a directory on the way", func(t *testing.T, top string) {
			chown(t, top+"/way")
		}, "way belongs to uid 12345, want root: remove it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			top := ownDir(t)
			path := top + "/way/otelgc/board"
			w := create(t, path)
			must(t, w.Close())
			w, err := Create(WriterOptions{Paths: []string{path}, Slots: 64, Source: stall.ProbeSpin, Since: 1e9})
			must(t, err)
			must(t, w.files.lock.Close()) // a dead writer's board is there
			test.spoil(t, top)
			check := func(who string, err error) {
				t.Helper()
				if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: got error %v, want one line of ErrForeign with %q", who, err, test.text)
				}
			}
			r, err := Open(path)
			check("reader", err)
			if r != nil {
				_ = r.Close()
			}
			second, err := Create(WriterOptions{Paths: []string{path}, Slots: 64, Source: stall.ProbeSpin})
			check("writer", err)
			if second != nil {
				_ = second.Close()
			}
		})
	}
}

// TestStickyOnTheWay: nobody can take the place of a directory of ours in /dev/shm.
func TestStickyOnTheWay(t *testing.T) {
	top := ownDir(t)
	must(t, unix.Chmod(top, 0o1777))
	create(t, top+"/otelgc/board")
	open(t, top+"/otelgc/board")
}

// TestDirectorySwapped puts a link in the place of the directory while the board is
// open: the writer goes on in the directory that it opened, and the reader does not
// follow.
func TestDirectorySwapped(t *testing.T) {
	top := ownDir(t)
	path := top + "/otelgc/board"
	w := create(t, path)
	write(t, w, 0, 2)
	other := create(t, top+"/victim/board")
	write(t, other, 50, 60)
	r := open(t, path)
	_, before := read(t, r)
	must(t, os.Rename(top+"/otelgc", top+"/moved"))
	must(t, os.Symlink("victim", top+"/otelgc"))

	write(t, w, 2, 4)
	got, status := read(t, r)
	if diff := cmp.Diff(gaps(2, 4), got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if status.Generation != before.Generation || !errors.Is(status.Next, ErrForeign) {
		t.Errorf("generation %d after %d, next %v; want the same and ErrForeign", status.Generation, before.Generation, status.Next)
	}
	must(t, w.Close())
	if _, err := os.Lstat(top + "/victim/board"); err != nil {
		t.Errorf("the board of another writer: %v", err)
	}
	if left, err := filepath.Glob(top + "/moved/board"); err != nil || len(left) != 0 {
		t.Errorf("the writer left %v (%v)", left, err)
	}
}

// TestSwappedBeforePublish swaps the directory between the making of the file and
// its last name.
func TestSwappedBeforePublish(t *testing.T) {
	top := ownDir(t)
	must(t, os.Mkdir(top+"/victim", 0o755))
	f, err := createFiles(top+"/otelgc/board", recordsAt)
	must(t, err)
	defer func() { must(t, f.close()) }()
	must(t, os.Rename(top+"/otelgc", top+"/moved"))
	must(t, os.Symlink("victim", top+"/otelgc"))
	must(t, os.WriteFile(top+"/victim/board.new", []byte("theirs"), 0o644))
	must(t, f.publish())
	if _, err := os.Lstat(top + "/moved/board"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(top + "/victim/board"); err == nil {
		t.Error("a file of somebody else has become the board")
	}
}

// TestMadeModes: each directory that is made can be entered by all, whatever the
// umask.
func TestMadeModes(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	top := ownDir(t)
	create(t, top+"/a/b/board")
	for _, name := range []string{top + "/a", top + "/a/b"} {
		info, err := os.Stat(name)
		must(t, err)
		if got := info.Mode().Perm(); got != 0o755 {
			t.Errorf("%s: got mode %o, want 755", name, got)
		}
	}
}

// TestRelativePath: the way to a relative path is checked from the root, too.
func TestRelativePath(t *testing.T) {
	top := ownDir(t)
	must(t, os.Mkdir(top+"/real", 0o755))
	must(t, os.Symlink("real", top+"/link"))
	t.Chdir(top + "/link") // $PWD has the link, the kernel has not
	create(t, "otelgc/board")
	open(t, top+"/real/otelgc/board")
	must(t, os.Chmod(top+"/real", 0o777))
	if _, err := Open("otelgc/board"); !errors.Is(err, ErrForeign) {
		t.Errorf("below a directory that all may write: got error %v, want ErrForeign", err)
	}
}
