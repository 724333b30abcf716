package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// waitsFiles makes three files of a thread, and returns its root.
func waitsFiles(t *testing.T, schedstat, status, stat string) (root string, files map[string]string) {
	t.Helper()
	root = t.TempDir()
	dir := filepath.Join(root, "proc/self/task/12")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for file, text := range map[string]string{"schedstat": schedstat, "status": status, "stat": stat} {
		files[file] = filepath.Join(dir, file)
		if err := os.WriteFile(files[file], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, files
}

const oneStat = "12 (a) b) R 1 2 3 4 5 6 21 0 2 0 9 9\n"

func TestReadWaits(t *testing.T) {
	for name, test := range map[string]struct {
		schedstat, status string
		want              Waits
		fails             bool
	}{
		"good":        {"81 3500 7\n", "Name:\tx\nvoluntary_ctxt_switches:\t4\nnonvoluntary_ctxt_switches:\t3\n", Waits{3500, 7, 4, 23}, false},
		"many groups": {"81 3500 7\n", "Groups:\t" + strings.Repeat("1000 ", 5000) + "\nvoluntary_ctxt_switches:\t4\n", Waits{3500, 7, 4, 23}, false},
		"short":       {"81 3500\n", "voluntary_ctxt_switches:\t4\n", Waits{}, true},
		"nonsense":    {"81 x 7\n", "voluntary_ctxt_switches:\t4\n", Waits{}, true},
		"no count":    {"81 3500 7\n", "Name:\tx\n", Waits{3500, 7, 0, 0}, true},
		"odd count":   {"81 3500 7\n", "voluntary_ctxt_switches:\t-4\n", Waits{3500, 7, 0, 0}, true},
		"absurd":      {"81 3500 7\n", strings.Repeat("x", 2*maxText), Waits{3500, 7, 0, 0}, true},
		"from 64bit":  {"81 99999999999999999999 7\n", "", Waits{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			root, _ := waitsFiles(t, test.schedstat, test.status, oneStat)
			w, err := OpenWaits(root, 12)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			got, err := w.Read()
			if (err != nil) != test.fails {
				t.Errorf("got error %v, want one: %v", err, test.fails)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("waits (-want +got):\n%s", d)
			}
		})
	}
	if _, err := OpenWaits(t.TempDir(), 12); err == nil {
		t.Error("no such thread: no error")
	}
}

// TestWaitsAreReadAnew: the files are opened once, and tell what they hold now.
func TestWaitsAreReadAnew(t *testing.T) {
	root, files := waitsFiles(t, "81 3500 7\n", "voluntary_ctxt_switches:\t4\n", oneStat)
	w, err := OpenWaits(root, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Read(); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"schedstat": "99 4500 9\n", "status": "voluntary_ctxt_switches:\t5\n", "stat": oneStat} {
		if err := os.WriteFile(files[file], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(files[file]); err != nil { // nobody can open it any more
			t.Fatal(err)
		}
	}
	got, err := w.Read()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Waits{4500, 9, 5, 23}, got); d != "" {
		t.Errorf("waits (-want +got):\n%s", d)
	}
}
