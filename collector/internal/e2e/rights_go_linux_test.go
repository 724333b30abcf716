package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoRights: what the sidecar with go runs, as root with SYS_PTRACE, DAC_READ_SEARCH,
// BPF and PERFMON among the processes of the node, watches a Go program of another user in another pod,
// reads in its environment what it is called, and has its collections. With less it
// says what it may not, and the mend.
func TestGoRights(t *testing.T) {
	program := plainProgram(t)
	f := deployed(t, "go")
	t.Run("as deployed", func(t *testing.T) {
		answers := filepath.Join(t.TempDir(), "answers")
		sidecar, in := besideOther(t, f, program, answers)
		printed(t, sidecar, "watching a Go process")
		if _, err := fmt.Fprintln(in, "work 5"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the answer", func() error {
			text, err := os.ReadFile(answers)
			if err == nil && !strings.Contains(string(text), "Collections") {
				err = fmt.Errorf("not in %q", text)
			}
			return err
		}, sidecar)
		end(t, sidecar)
		var got struct {
			Targets []struct {
				Service, Source string
				LastIndex       uint64 `json:"last_index"` // of its collections
			}
		}
		sidecar.document(t, &got)
		if len(got.Targets) != 1 || got.Targets[0].Service != "e2e-invoices" || got.Targets[0].Source != "gouprobe" || got.Targets[0].LastIndex < 5 {
			t.Errorf("targets %+v, want one called e2e-invoices, with 5 collections or more", got.Targets)
		}
		if strings.Contains(sidecar.output(), "level=WARN") {
			t.Errorf("it complains:\n%s", tail(sidecar.output(), 4000))
		}
	})
	for right, line := range map[string][2]string{
		"sys_ptrace":      {"no process is watched", "CAP_SYS_PTRACE"},
		"dac_read_search": {"collections are not watched", "CAP_DAC_READ_SEARCH"},
		"bpf":             {"Go processes are not watched", "CAP_BPF"},
		"perfmon":         {"Go processes are not watched", "CAP_PERFMON"},
	} {
		t.Run("without "+right, func(t *testing.T) {
			sidecar, _ := besideOther(t, f.without(right), program, os.DevNull)
			printed(t, sidecar, line[0])
			end(t, sidecar)
			for said := range strings.Lines(sidecar.output()) {
				if strings.Contains(said, line[0]) && !strings.Contains(said, line[1]) {
					t.Errorf("it does not say %s: %s", line[1], said)
				}
			}
		})
	}
}

// plainProgram builds a Go program that links nothing of ours.
func plainProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // another user runs it
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module example.com/invoices\n\ngo 1.22\n", "main.go": "", "exec.go": ""} {
		if text == "" {
			source, err := os.ReadFile("../../../internal/gouprobe/testdata/target/" + name)
			if err != nil {
				t.Fatal(err)
			}
			text = string(source)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "invoices", ".")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return filepath.Join(dir, "invoices")
}
