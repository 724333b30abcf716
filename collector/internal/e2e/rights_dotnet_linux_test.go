package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDotnetRights: what the sidecar with dotnet runs, as root with SYS_PTRACE and
// DAC_OVERRIDE among the processes of the node, attaches to a .NET process of
// another user in another pod, reads in its environment what it is called, and
// has its collections. With less it says what it may not, and the mend.
func TestDotnetRights(t *testing.T) {
	program := dotnetProgram(t)
	t.Setenv("DOTNET_GCGen0MaxBudget", "80000") // 512 KiB: by default it follows the cache, and there may be no collection
	f := deployed(t, "dotnet")
	t.Run("as deployed", func(t *testing.T) {
		answers := filepath.Join(t.TempDir(), "answers")
		sidecar, in := besideOther(t, f, program, answers)
		printed(t, sidecar, "watching a .NET process")
		const requests = 600
		ask(t, in, `"id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`)
		ask(t, in, `"method":"notifications/initialized"`)
		for i := range requests {
			ask(t, in, fmt.Sprintf(`"id":%d,"method":"tools/list","params":{}`, i+1))
		}
		eventually(t, "the last answer", func() error {
			text, err := os.ReadFile(answers)
			if err == nil && !strings.Contains(string(text), fmt.Sprintf(`"id":%d`, requests)) {
				err = fmt.Errorf("not among %d bytes", len(text))
			}
			return err
		}, sidecar)
		end(t, sidecar)
		var got struct {
			Targets []struct {
				Service   string
				LastIndex uint64 `json:"last_index"` // of its collections
			}
		}
		sidecar.document(t, &got)
		if len(got.Targets) != 1 || got.Targets[0].Service != "e2e-invoices" || got.Targets[0].LastIndex == 0 {
			t.Errorf("targets %+v, want one called e2e-invoices, with collections", got.Targets)
		}
		if strings.Contains(sidecar.output(), "level=WARN") {
			t.Errorf("it complains:\n%s", tail(sidecar.output(), 4000))
		}
	})
	for right, mend := range map[string]string{
		"sys_ptrace":   "CAP_SYS_PTRACE",
		"dac_override": "CAP_DAC_OVERRIDE",
	} {
		t.Run("without "+right, func(t *testing.T) {
			sidecar, _ := besideOther(t, f.without(right), program, os.DevNull)
			printed(t, sidecar, "collections are not watched")
			end(t, sidecar)
			for line := range strings.Lines(sidecar.output()) {
				if strings.Contains(line, "collections are not watched") && !strings.Contains(line, mend) {
					t.Errorf("it does not say %s: %s", mend, line)
				}
			}
		})
	}
}

// besideOther starts the sidecar and a program, of .NET or Go, in a PID namespace that they
// share, as a node with hostPID: the program as another user without a right, with
// a /tmp of its own, as in a pod of its own. The program may lie below /tmp.
func besideOther(t *testing.T, f flavour, program, answers string) (p *process, in io.Writer) {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skipf("skipped: to give the two processes of their own: %v", err)
	}
	const script = `
unshare --mount --propagation private /bin/sh -c 'mount --bind "${0%/*}" /mnt && mount -t tmpfs -o mode=1777 tmpfs /tmp && exec setpriv \
	--reuid=1654 --regid=1654 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs env HOME=/tmp TMPDIR=/tmp \
	OTEL_SERVICE_NAME=e2e-invoices DOTNET_GCgen0size=80000 AZURE_MCP_COLLECT_TELEMETRY=false "/mnt/${0##*/}" server start' "$0" <&3 >&4 &
exec "$@" 3<&- 4>&-`
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	out, err := os.OpenFile(answers, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--fork", "--pid", "--kill-child", "--mount-proc", "--propagation", "private", "/bin/sh", "-c", script, program}
	p = startAs(t, func(c *exec.Cmd) { c.ExtraFiles = []*os.File{r, out} }, f.alone(t),
		unshare, append(args, f.command(t, "--json")...)...)
	_, _ = r.Close(), out.Close() // the process has them
	return p, w
}

// end asks the sidecar, the first process in there, to end: unshare itself would
// kill it.
func end(t *testing.T, p *process) {
	t.Helper()
	var child int
	text, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscan(string(text), &child)
	}
	if err == nil {
		err = syscall.Kill(child, syscall.SIGTERM)
	}
	if err != nil {
		t.Fatalf("end the sidecar: %v", err)
	}
	p.wait(t)
}
