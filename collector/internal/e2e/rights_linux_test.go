package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// flavour is how a manifest of collector/deploy/sidecar runs the sidecar: root,
// with these arguments, and no capability but these.
type flavour struct{ args, caps []string }

// Where the manifests say it: the DaemonSet, and the patches of its components.
var (
	baseArgs   = regexp.MustCompile(`(?m)^ +args: \[(.*)\]$`)
	moreArgs   = regexp.MustCompile(`path: \S+/args/-, value: (\S+?)\}`)
	capability = regexp.MustCompile(`path: \S+/capabilities/add/-, value: ([A-Z_]+)\}`)
)

// deployed reads the manifests, so that what is tested is what is deployed.
func deployed(t *testing.T, components ...string) (f flavour) {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile("../../deploy/sidecar/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	base := baseArgs.FindStringSubmatch(read("daemonset.yaml"))
	if base == nil {
		t.Fatal("daemonset.yaml has no args")
	}
	f.args = strings.Split(base[1], ", ")
	for _, c := range components {
		text := read(c + "/kustomization.yaml")
		for _, m := range moreArgs.FindAllStringSubmatch(text, -1) {
			f.args = append(f.args, m[1])
		}
		for _, m := range capability.FindAllStringSubmatch(text, -1) {
			f.caps = append(f.caps, strings.ToLower(m[1]))
		}
		if len(f.caps) == 0 {
			t.Fatalf("component %s adds no capability", c)
		}
	}
	return f
}

// without returns f with one capability less.
func (f flavour) without(capability string) flavour {
	less := flavour{args: f.args}
	for _, c := range f.caps {
		if c != capability {
			less.caps = append(less.caps, c)
		}
	}
	return less
}

// command returns what runs the sidecar as root with the rights of f alone, as a
// container of that manifest has them.
func (f flavour) command(t *testing.T, more ...string) []string {
	t.Helper()
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("skipped: to run without capabilities: want root and setpriv (util-linux): uid %d, %v", os.Geteuid(), err)
	}
	caps := strings.Join(append([]string{"-all"}, f.caps...), ",+")
	return append(append([]string{setpriv, "--bounding-set=" + caps, "--inh-caps=" + caps, "--no-new-privs", programs(t).sidecar}, f.args...), more...)
}

// alone makes the sidecar export nothing, and write the board.
func alone(board string) []string {
	return []string{"OTELGC_BOARD=" + board, "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none"}
}

// printed waits until a process has printed all of some texts.
func printed(t *testing.T, p *process, texts ...string) {
	t.Helper()
	for _, text := range texts {
		eventually(t, text, func() error {
			if !strings.Contains(p.output(), text) {
				return errors.New("it has not said so")
			}
			return nil
		}, p)
	}
}

// document reads the JSON document at the end of what a process printed.
func (p *process) document(t *testing.T, into any) {
	t.Helper()
	text := p.output()
	at := max(0, strings.LastIndex(text, `{"schema"`))
	if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(into); err != nil {
		t.Fatalf("the document of %s: %v\n%s", p.name, err, tail(text, 20000))
	}
}

// TestSidecarRights: what collector/deploy/sidecar/daemonset.yaml runs, as root
// without a capability, does all that it is to do, and has nothing to complain of.
func TestSidecarRights(t *testing.T) {
	t.Parallel()
	board := filepath.Join(t.TempDir(), "board")
	command := deployed(t).command(t)
	sidecar := start(t, alone(board), command[0], command[1:]...)
	printed(t, sidecar, "writing the board")
	if _, err := os.Stat(board); err != nil {
		t.Error(err)
	}
	sidecar.stop(t)
	if !sidecar.cmd.ProcessState.Success() || strings.Contains(sidecar.output(), "level=WARN") {
		t.Errorf("the sidecar ended with %v, and said\n%s", sidecar.cmd.ProcessState, sidecar.output())
	}
}
