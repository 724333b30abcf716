package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadWaits(t *testing.T) {
	for name, test := range map[string]struct {
		schedstat, status string
		want              Waits
		fails             bool
	}{
		"good":       {"81 3500 7\n", "Name:\tx\nvoluntary_ctxt_switches:\t4\nnonvoluntary_ctxt_switches:\t3\n", Waits{3500, 7, 4, 23}, false},
		"short":      {"81 3500\n", "voluntary_ctxt_switches:\t4\n", Waits{}, true},
		"nonsense":   {"81 x 7\n", "voluntary_ctxt_switches:\t4\n", Waits{}, true},
		"no count":   {"81 3500 7\n", "Name:\tx\n", Waits{3500, 7, 0, 0}, true},
		"odd count":  {"81 3500 7\n", "voluntary_ctxt_switches:\t-4\n", Waits{3500, 7, 0, 0}, true},
		"from 64bit": {"81 99999999999999999999 7\n", "", Waits{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "proc/self/task/12")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{"schedstat": test.schedstat, "status": test.status, "stat": "12 (a) b) R 1 2 3 4 5 6 21 0 2 0 9 9\n"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := ReadWaits(root, 12)
			if (err != nil) != test.fails {
				t.Errorf("got error %v, want one: %v", err, test.fails)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("waits (-want +got):\n%s", d)
			}
		})
	}
	if _, err := ReadWaits(t.TempDir(), 12); err == nil {
		t.Error("no such thread: no error")
	}
}
