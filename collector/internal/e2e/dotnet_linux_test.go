package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestDotnetBeside: the sidecar of the node attaches to a .NET process, and the
// spans that say the same of their pod and container are charged with its
// collections. Those of another pod are not.
func TestDotnetBeside(t *testing.T) {
	t.Parallel()
	program := called(t, dotnetProgram(t), fmt.Sprintf("invoices%d", os.Getpid()))
	n := newTiers(t, long)
	sidecar := n.agent.watch(t, "grpc", "off", "--mode", "periodic", "--target", filepath.Base(program))
	in, dotnet := startDotnet(t, program)
	all := append(n.running[:], sidecar, dotnet)
	eventually(t, "the sidecar at the .NET process", func() error {
		if !strings.Contains(sidecar.output(), "watching a .NET process") {
			return fmt.Errorf("it is not attached")
		}
		return nil
	}, all...)

	var spans []wallSpan
	ask(t, in, `"id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`)
	ask(t, in, `"method":"notifications/initialized"`)
	for i := range 100 {
		from := time.Now().UnixNano()
		ask(t, in, fmt.Sprintf(`"id":%d,"method":"tools/list","params":{}`, i+1))
		answered(t, dotnet, i+1)
		spans = append(spans, wallSpan{from, time.Now().UnixNano()})
	}
	// A slow machine may tell of other processes seconds before, and none is waited for
	// that is so far behind.
	n.place().hear(t, "e2e-invoices", stall.Dotnet, monotonic(t), all...)
	n.sendOf(t, "e2e-invoices", map[string]string{"k8s.pod.uid": "pod-of-invoices", "k8s.container.name": "main"}, spans)
	n.sendOf(t, "e2e-bystander", map[string]string{"k8s.pod.uid": "pod-of-bystander", "k8s.container.name": "main"}, spans)
	for _, service := range []string{"e2e-invoices", "e2e-bystander"} {
		eventually(t, "all spans of "+service, func() error {
			if got := len(n.of(service)); got < len(spans) {
				return fmt.Errorf("%d of %d", got, len(spans))
			}
			return nil
		}, all...)
	}
	watched, paused := sums(n.of("e2e-invoices"))
	t.Logf("of %d spans: watched %.1f, paused %.3f ms", len(spans), watched, paused*1e3)
	if watched == 0 || paused == 0 {
		t.Errorf("spans of the .NET process: watched %v, paused %v s; want more than 0", watched, paused)
	}
	if watched, paused := sums(n.of("e2e-bystander")); watched != 0 || paused != 0 {
		t.Errorf("spans of another pod: watched %v, paused %v s; want 0", watched, paused)
	}
	sidecar.stop(t)
	n.stop(t)
}

// sums adds up the coverage and the pauses of spans.
func sums(spans map[string]delivered) (watched, paused float64) {
	for _, d := range spans {
		watched += d.shares["otelgc.stall.coverage"]
		paused += d.shares["otelgc.stall.gc.pause"]
	}
	return watched, paused
}

// dotnetProgram returns a .NET program that .ci/run installs.
func dotnetProgram(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OTELGC_AZMCP")
	if path == "" {
		path = "../../../.cache/npm/node_modules/@azure/mcp-linux-x64/dist/azmcp"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("skipped: %v: a .NET process: .ci/run npm installs one, or set OTELGC_AZMCP", err)
	}
	return path
}

// called returns a link to a program: other tests run it meanwhile, and it is looked
// for by its name.
func called(t *testing.T, program, name string) string {
	t.Helper()
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// startDotnet starts it with collections that come often. It is asked by in.
func startDotnet(t *testing.T, program string) (in io.Writer, p *process) {
	t.Helper()
	dir, err := os.MkdirTemp("", "dn") // short: the path of a socket has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	env := []string{
		"OTEL_SERVICE_NAME=e2e-invoices", "OTEL_RESOURCE_ATTRIBUTES=k8s.pod.uid=pod-of-invoices,k8s.container.name=main",
		"DOTNET_GCgen0size=80000", "TMPDIR=" + dir, "HOME=" + dir, "AZURE_MCP_COLLECT_TELEMETRY=false",
	}
	contain := newContainer(t)
	p = startAs(t, func(c *exec.Cmd) { c.Stdin = r; contain(c) }, env, program, "server", "start")
	_ = r.Close() // the process has it
	return w, p
}

// newContainer makes a cgroup that is called as a container's, and returns what puts a
// program into it. The sidecar believes it of a process's container, and nothing that the
// process says. Its pod it does not tell, as of a container in the sidecar's own.
func newContainer(t *testing.T) (contain func(*exec.Cmd)) {
	t.Helper()
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue // no cgroup v2
		}
		dir := filepath.Join(root, fmt.Sprintf("%064x", rand.Uint64()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("skipped: make a cgroup: %v: run as root", err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return func(c *exec.Cmd) { c.SysProcAttr.UseCgroupFD, c.SysProcAttr.CgroupFD = true, int(f.Fd()) }
	}
	t.Skip("skipped: there is no cgroup v2 to put a process into")
	return nil
}

// answered waits until a process has answered a question: only then has it done what it
// was asked for.
func answered(t *testing.T, p *process, id int) {
	t.Helper()
	answer := regexp.MustCompile(fmt.Sprintf(`"id":%d[,}]`, id))
	for end := time.Now().Add(patience); !answer.MatchString(p.output()); time.Sleep(time.Millisecond) {
		if p.alive(t); time.Now().After(end) {
			t.Fatalf("no answer to question %d", id)
		}
	}
}

func ask(t *testing.T, in io.Writer, message string) {
	t.Helper()
	if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0",%s}`+"\n", message); err != nil {
		t.Fatal(err)
	}
}
