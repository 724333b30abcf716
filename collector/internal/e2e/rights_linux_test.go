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

// flavour is how the chart runs the sidecar: as this user, with these arguments, and no
// capability but these.
type flavour struct {
	user       string
	board      bool // it writes one
	args, caps []string
}

// Where its DaemonSet says it.
var (
	chartArgs  = regexp.MustCompile(`(?m)^ +args: (\[.*\])$`)
	chartBoard = regexp.MustCompile(`"name":"OTELGC_BOARD","value":"(.*?)"`)
	chartUser  = regexp.MustCompile(`runAsUser: (\d+)`)
	chartCaps  = regexp.MustCompile(`capabilities: \{drop: \[ALL\], add: (\[.*\])\}`)
)

// deployed reads an example of what the chart renders, so that what is tested is what is
// deployed.
func deployed(t *testing.T, example string) (f flavour) {
	t.Helper()
	text, err := os.ReadFile("../../../charts/otelgc/examples/" + example + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, sidecar, _ := strings.Cut(string(text), "kind: DaemonSet\nmetadata:\n  name: otelgc-sidecar\n")
	args, caps := chartArgs.FindStringSubmatch(sidecar), chartCaps.FindStringSubmatch(sidecar)
	user, board := chartUser.FindStringSubmatch(sidecar), chartBoard.FindStringSubmatch(sidecar)
	if args == nil || caps == nil || user == nil || board == nil {
		t.Fatalf("the sidecar of %s has args %q, capabilities %q, user %q, board %q", example, args, caps, user, board)
	}
	f.user, f.board = user[1], board[1] != "off"
	if err := errors.Join(json.Unmarshal([]byte(args[1]), &f.args), json.Unmarshal([]byte(caps[1]), &f.caps)); err != nil {
		t.Fatal(err)
	}
	for i, c := range f.caps {
		f.caps[i] = strings.ToLower(c)
	}
	if (len(f.caps) == 0) != (example == "default" || example == "board") {
		t.Fatalf("the sidecar of %s has capabilities %q", example, f.caps)
	}
	return f
}

// without returns f with one capability less.
func (f flavour) without(capability string) flavour {
	less := flavour{user: f.user, board: f.board, args: f.args}
	for _, c := range f.caps {
		if c != capability {
			less.caps = append(less.caps, c)
		}
	}
	return less
}

// command returns what runs the sidecar as its user with the rights of f alone, as a
// container of that DaemonSet has them.
func (f flavour) command(t *testing.T, more ...string) []string {
	t.Helper()
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("skipped: to run without capabilities: want root and setpriv (util-linux): uid %d, %v", os.Geteuid(), err)
	}
	caps := strings.Join(append([]string{"-all"}, f.caps...), ",+")
	return append(append([]string{setpriv, "--reuid=" + f.user, "--clear-groups", "--bounding-set=" + caps, "--inh-caps=" + caps, "--no-new-privs", programs(t).sidecar}, f.args...), more...)
}

// alone makes the sidecar export nothing, and write a board if it is to write one.
func (f flavour) alone(t *testing.T) []string {
	board := "off"
	if f.board {
		board = filepath.Join(t.TempDir(), "board")
	}
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

// TestSidecarRights: what the chart runs when nobody chose anything, without any right,
// and what it runs where the board is asked for, as root without a capability, does all
// that it is to do, and has nothing to complain of.
func TestSidecarRights(t *testing.T) {
	t.Parallel()
	for example, says := range map[string]string{"default": "msg=probing", "board": "writing the board"} {
		t.Run(example, func(t *testing.T) {
			f := deployed(t, example)
			if root, asked := f.user == "0", example == "board"; root != asked || f.board != asked {
				t.Fatalf("it runs as user %s, and writes a board: %v", f.user, f.board)
			}
			command := f.command(t)
			sidecar := start(t, f.alone(t), command[0], command[1:]...)
			printed(t, sidecar, says)
			sidecar.stop(t)
			if !sidecar.cmd.ProcessState.Success() || strings.Contains(sidecar.output(), "level=WARN") {
				t.Errorf("the sidecar ended with %v, and said\n%s", sidecar.cmd.ProcessState, sidecar.output())
			}
		})
	}
}
