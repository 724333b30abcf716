package board

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"golang.org/x/sys/unix"
)

func TestAppendRefuses(t *testing.T) {
	w := create(t, testPath(t))
	for name, change := range map[string]func(*stall.Interval){
		"a cause of the runtime": func(v *stall.Interval) { v.Cause = stall.GCPause },
		"no source":              func(v *stall.Interval) { v.Origin = stall.NoOrigin },
		"the scope of a process": func(v *stall.Interval) { v.Scope = stall.ScopeProcess },
		"an end before start":    func(v *stall.Interval) { v.End = v.Start - 1 },
		"negative slack":         func(v *stall.Interval) { v.Slack = -1 },
	} {
		v := gap(0)
		change(&v)
		if err := w.Append(v); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	replace := func(at int, text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(b[at:], text)
			if at < headerSize {
				seal(b[:headerSize])
			}
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		name   string
		damage func(*testing.T, string)
		want   error
		text   string
	}{
		{"another boot", replace(32, "00000000-0000-0000-0000-000000000000"), ErrStale, "of boot"},
		{"no board", replace(0, "#!/bin/sh"), ErrForeign, "magic"},
		{"a later version", replace(8, "\x03"), ErrForeign, "version 3"},
		{"another record size", replace(12, "\x80"), ErrForeign, "offset 12"},
		{"a ring of any size", replace(16, "\xff\xff\xff\xff\xff\xff\xff\xff"), ErrForeign, "offset 16"},
		{"a ring larger than the file", replace(16, "\x80"), ErrForeign, "128 records need"},
		{"an empty file", func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }, ErrForeign, "0 bytes"},
		{"a symbolic link", func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		}, ErrForeign, "symbolic link"},
		{"a pipe", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, unix.Mkfifo(path, 0o644))
		}, ErrForeign, "not a regular file"},
		{"a file all may write", func(t *testing.T, path string) { must(t, os.Chmod(path, 0o666)) }, ErrForeign, "chmod"},
		{"a foreign owner", func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("changing a file's owner needs root")
			}
			must(t, os.Chown(path, 12345, -1))
		}, ErrForeign, "uid 12345"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := testPath(t)
			create(t, path)
			test.damage(t, path)
			_, err := Open(path)
			if !errors.Is(err, test.want) {
				t.Fatalf("got error %v, want %v", err, test.want)
			}
			if !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q does not name the file and %q", err, test.text)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTruncatedWhileReading(t *testing.T) {
	path := testPath(t)
	w := create(t, path)
	write(t, w, 0, 40)
	r := open(t, path)
	must(t, os.Truncate(path, recordsAt+10*recordSize))
	had := gaps(0, 1)
	got, status, err := r.Read(had)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "offset 4096") {
		t.Errorf("got error %v, want %v at offset 4096", err, io.ErrUnexpectedEOF)
	}
	if diff := cmp.Diff(had, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Status{}, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestLockIsPrivate holds that nobody else may open the lock, and so take it,
// also if an earlier writer left it open to all.
func TestLockIsPrivate(t *testing.T) {
	path := testPath(t)
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".lock", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	create(t, path)
	info, err := os.Stat(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode of the lock %o, want 600", got)
	}
}
