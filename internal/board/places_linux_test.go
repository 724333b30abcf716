package board

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// createAt makes a board at the first of paths where that can be.
func createAt(t *testing.T, since stall.Instant, paths ...string) *Writer {
	t.Helper()
	w, err := Create(WriterOptions{Paths: paths, Slots: 64, Source: stall.ProbeSpin, Since: since})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return w
}

func TestPaths(t *testing.T) {
	for set, want := range map[string][]string{
		"":       {"/run/otelgc/board", "/dev/shm/otelgc/board"},
		"off":    nil,
		"/x/y/z": {"/x/y/z"},
	} {
		t.Setenv(pathVariable, set)
		if diff := cmp.Diff(want, Paths()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", set, diff)
		}
	}
}

// TestSecondPlace: where the first place cannot be had the second is taken; where
// there is something wrong with the first the writer says so.
func TestSecondPlace(t *testing.T) {
	top := ownDir(t)
	second := top + "/second/board"
	w := createAt(t, 0, "/proc/otelgc/board", second)
	if got := w.Path(); got != second {
		t.Errorf("board at %s, want %s", got, second)
	}
	must(t, os.Mkdir(top+"/first", 0o755))
	must(t, os.Chmod(top+"/first", 0o777))
	_, err := Create(WriterOptions{Paths: []string{top + "/first/board", second}, Source: stall.ProbeSpin})
	if !errors.Is(err, ErrForeign) {
		t.Errorf("first place that all may write: got error %v, want ErrForeign", err)
	}
	_, err = Create(WriterOptions{Paths: []string{"/proc/otelgc/board", second}, Source: stall.ProbeSpin})
	if !errors.Is(err, ErrLocked) {
		t.Errorf("second place with a writer: got error %v, want ErrLocked", err)
	}
}

// TestBetterPlaceAppears: a reader of the second place goes to the first when there
// is a board, is told nothing twice, and comes back when it is gone.
func TestBetterPlaceAppears(t *testing.T) {
	top := ownDir(t)
	first, second := top+"/first/board", top+"/second/board"
	low := createAt(t, 1e9, second)
	write(t, low, 0, 10)
	r, err := Open(first, second)
	must(t, err)
	defer func() { must(t, r.Close()) }()
	got, before := read(t, r)
	if len(got) != 10 {
		t.Errorf("second place: got %d records, want 10", len(got))
	}

	high := createAt(t, 1e9, first)
	write(t, high, 8, 12) // two of them were told
	got, better := read(t, r)
	if diff := cmp.Diff(gaps(10, 12), got); diff != "" {
		t.Errorf("first place: records (-want +got):\n%s", diff)
	}
	if better.Generation == before.Generation || better.Next != nil || len(better.Unseen) != 0 {
		t.Errorf("first place: generation %d after %d, next %v, unseen %v", better.Generation, before.Generation, better.Next, better.Unseen)
	}
	write(t, low, 10, 20)
	if got, status := read(t, r); len(got) != 0 || status.Generation != better.Generation {
		t.Errorf("with both: got %d records of generation %d; want none of the second", len(got), status.Generation)
	}

	must(t, high.Close())
	got, status := read(t, r)
	if diff := cmp.Diff(gaps(12, 20), got); diff != "" {
		t.Errorf("first place gone: records (-want +got):\n%s", diff)
	}
	if status.Generation != before.Generation {
		t.Error("first place gone: not noticed")
	}
}

// TestBetterPlaceRefused: what cannot be believed in the first place is said, and
// takes nothing from the second.
func TestBetterPlaceRefused(t *testing.T) {
	top := ownDir(t)
	first, second := top+"/first/board", top+"/second/board"
	low := createAt(t, 1e9, second)
	write(t, low, 0, 2)
	createAt(t, 1e9, first)
	must(t, os.Chmod(top+"/first", 0o775))
	r, err := Open(first, second)
	must(t, err)
	defer func() { must(t, r.Close()) }()
	for i := range 3 {
		got, status := read(t, r)
		if !errors.Is(status.Next, ErrForeign) || r.file.Name() != second {
			t.Errorf("read %d of %s: next %v; want ErrForeign, and %s", i, r.file.Name(), status.Next, second)
		}
		if want := 2; i == 0 && len(got) != want || i > 0 && len(got) != 0 {
			t.Errorf("read %d: got %d records", i, len(got))
		}
	}
}

// TestNoneAndRefused: that a place is refused is not hidden by another in which
// there is none.
func TestNoneAndRefused(t *testing.T) {
	top := ownDir(t)
	if _, err := Open(top+"/a/board", top+"/b/board"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: got error %v, want ErrNotExist", err)
	}
	must(t, os.Mkdir(top+"/b", 0o755))
	must(t, os.Chmod(top+"/b", 0o777))
	if _, err := Open(top+"/b/board", top+"/a/board"); !errors.Is(err, ErrForeign) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one refused: got error %v, want ErrForeign alone", err)
	}
}

// TestMain makes a board where createAs asks for it. With another umask
// no directory of t.TempDir would be believed.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	if paths := os.Getenv("BOARD_TEST_CREATE"); paths != "" {
		if _, err := Create(WriterOptions{Paths: strings.Split(paths, ":"), Slots: 64, Source: stall.ProbeSpin}); err != nil {
			fmt.Println(err)
		}
		os.Exit(0) // as a killed writer, it leaves its board
	}
	os.Exit(m.Run())
}

// TestMadeByAnother: a user who was first in a directory like /dev/shm keeps the
// writer of root out, is not believed by root, and is named in one line.
func TestMadeByAnother(t *testing.T) {
	shm := sticky(t)
	path := shm + "/otelgc/board"
	if said := createAs(t, stranger, path); said != "" {
		t.Fatalf("writer of uid %d: %s", stranger, said)
	}
	want := "directory " + shm + "/otelgc belongs to uid 12345, want root: remove it, or set OTELGC_BOARD"
	_, err := Create(WriterOptions{Paths: []string{path}, Source: stall.ProbeSpin})
	if !errors.Is(err, ErrForeign) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("writer: got error %v, want one that ends in %q", err, want)
	}
	if _, err := Open(path); !errors.Is(err, ErrForeign) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("reader: got error %v, want one that ends in %q", err, want)
	}
}

// TestBetterPlaceOfRoot: a user makes no board in the second place that nobody would
// read, because root has one in the first.
func TestBetterPlaceOfRoot(t *testing.T) {
	shm := sticky(t)
	first, second := shm+"/first/board", shm+"/second/board"
	createAt(t, 1e9, first)
	want := "create board: " + ErrLocked.Error() + ": services read " + first + "\n"
	if said := createAs(t, stranger, first, second); said != want {
		t.Errorf("writer of uid %d: got %q, want %q", stranger, said, want)
	}
	if _, err := os.Lstat(shm + "/second"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it made a directory for a second board (%v)", err)
	}
}

// sticky returns a directory like /dev/shm that all users can enter.
func sticky(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: to run a writer as another user needs root")
	}
	shm, err := os.MkdirTemp("/dev/shm", "board-test-")
	if err != nil {
		t.Skipf("skipped: needs /dev/shm: %v", err)
	}
	t.Cleanup(func() { must(t, os.RemoveAll(shm)) })
	must(t, syscall.Chmod(shm, 0o1777))
	return shm
}

// createAs makes a board as another user, and returns what Create said.
func createAs(t *testing.T, uid uint32, paths ...string) (said string) {
	t.Helper()
	// go test keeps its own program where nobody else may enter.
	text, err := os.ReadFile(os.Args[0])
	must(t, err)
	program := sticky(t) + "/test"
	must(t, os.WriteFile(program, text, 0o755))
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "BOARD_TEST_CREATE="+strings.Join(paths, ":"))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this program: ", err)
	} else if err != nil {
		t.Fatalf("writer of uid %d: %v\n%s", uid, err, out)
	}
	return string(out)
}
