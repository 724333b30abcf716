package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestCompletion asks each shell that is there.
func TestCompletion(t *testing.T) {
	const bash = `otelgc-sidecar() { :; }
ask() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _otelgc_sidecar; echo "${COMPREPLY[*]}"; }
ask otelgc-sidecar r
ask otelgc-sidecar probe --th
ask otelgc-sidecar help do
ask otelgc-sidecar completion z
`
	const fish = `for line in "otelgc-sidecar r" "otelgc-sidecar probe --th" "otelgc-sidecar completion z"
complete -C $line
end
`
	for _, tt := range []struct {
		shell, ask string
		want       []string
	}{
		{"bash", bash, []string{"run report", "--threshold", "doctor", "zsh"}},
		{"fish", fish, []string{"report", "run", "--threshold", "zsh"}},
		{"zsh", "", nil}, // that it can be read: what it completes needs a terminal
	} {
		t.Run(tt.shell, func(t *testing.T) {
			path, err := exec.LookPath(tt.shell)
			if err != nil {
				t.Skipf("skipped: there is no %s: install it", tt.shell)
			}
			var script bytes.Buffer
			if err := printCompletion(&script, []string{tt.shell}); err != nil {
				t.Fatal(err)
			}
			script.WriteString(tt.ask)
			cmd := exec.Command(path, "--no-config", "/dev/stdin")
			if tt.shell != "fish" {
				cmd.Args = []string{path}
			}
			if tt.shell == "zsh" {
				cmd.Args = []string{path, "-n"}
			}
			cmd.Stdin = &script
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lines := strings.Split(string(out), "\n")
			for i, want := range tt.want {
				if i >= len(lines) || strings.Split(lines[i], "\t")[0] != want {
					t.Errorf("line %d of %q, want %q", i, out, want)
				}
			}
		})
	}
	if got := exitCode(printCompletion(&bytes.Buffer{}, []string{"csh"})); got != Wrong {
		t.Errorf("for csh: exit code %d, want %d", got, Wrong)
	}
}

// TestManual: it names each command and each flag, and groff finds nothing to say of it.
func TestManual(t *testing.T) {
	var page bytes.Buffer
	if err := printManual(&page); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(page.String(), `\-`, "-")
	for _, c := range commands {
		for _, want := range append([]string{".SS " + c.name}, c.flagNames()...) {
			if !strings.Contains(text, want+"\n") && !strings.Contains(text, want+" ") {
				t.Errorf("the manual has no %q", want)
			}
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("skipped: there is no groff: install it")
	}
	cmd := exec.Command(groff, "-ww", "-man", "-Tutf8", "-z")
	cmd.Stdin = &page
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v: %s", err, out)
	}
}
