package dotnettest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Options of a [Server].
type Options struct {
	// Env is added to the environment, such as "DOTNET_gcServer=1".
	Env []string
	// Name is what the process is called, by a link to the program; azmcp if
	// empty.
	Name string
	// Wrap is a command that runs the program, such as unshare.
	Wrap []string
	// TempDir is its TMPDIR; a directory of the test's own if empty.
	TempDir string
}

// Server is a running .NET process.
type Server struct {
	TempDir string

	t      testing.TB
	cmd    *exec.Cmd
	clock  stall.Clock
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	next   int
	end    func() error // waits for the end
}

// Start starts a process. It ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	program := Program(t)
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, clock: clock, TempDir: o.TempDir}
	if s.TempDir == "" {
		s.TempDir = tempDir(t)
	}
	if o.Name != "" {
		link := filepath.Join(s.TempDir, o.Name)
		if err := os.Symlink(program, link); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		program = link
	}
	command := append(slices.Clone(o.Wrap), program, "server", "start")
	s.cmd = exec.Command(command[0], command[1:]...)
	s.cmd.Env = append(environment(), "TMPDIR="+s.TempDir, "HOME="+s.TempDir, "AZURE_MCP_COLLECT_TELEMETRY=false")
	s.cmd.Env = append(s.cmd.Env, o.Env...)
	s.cmd.Stderr = &s.stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Fd makes the pipe block: the thread that reads is the one that waits.
	out.(*os.File).Fd()
	s.out = bufio.NewReaderSize(out, 1<<20)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.end = sync.OnceValue(s.cmd.Wait)
	t.Cleanup(s.Kill)
	return s
}

// tempDir is short: the path of a socket is at most 107 bytes.
func tempDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "dn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// environment is ours without what would change the process or its telemetry.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		for _, prefix := range []string{"DOTNET_", "COMPlus_", "OTEL_", "TMPDIR=", "HOME="} {
			if strings.HasPrefix(entry, prefix) {
				return true
			}
		}
		return false
	})
}

// PID returns the number of the process. If Options.Wrap forks, it is the
// wrapper's.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Response is one answer.
type Response struct {
	// Sent is when the request was written, Received when the answer was read.
	Sent, Received stall.Instant
	// Waited is how long the reading thread waited for a CPU meanwhile: the
	// answer may have been there so much earlier.
	Waited time.Duration
	Bytes  int
}

// Initialize makes the server ready for requests. It is the first call, and
// takes seconds: the process compiles most of itself in it.
func (s *Server) Initialize() {
	s.t.Helper()
	s.ask("initialize", map[string]any{
		"protocolVersion": "2024-11-05", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "otelgc", "version": "1"},
	})
	s.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

// Ping asks for the smallest answer.
func (s *Server) Ping() Response { return s.ask("ping", map[string]any{}) }

// List asks for the list of tools: 77 kB, and a few MB allocated. Pad is a
// number of bytes that the request carries along; from 85,000 on they are a
// large object.
func (s *Server) List(pad int) Response {
	params := map[string]any{}
	if pad > 0 {
		params["pad"] = strings.Repeat("x", pad)
	}
	return s.ask("tools/list", params)
}

// ask sends one request and waits for its answer.
func (s *Server) ask(method string, params map[string]any) Response {
	s.t.Helper()
	s.next++
	id := s.next
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	waited := waitedForCPU()
	r := Response{Sent: s.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})}
	for {
		line, err := s.out.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			r.Bytes += len(line)
			line, err = s.out.ReadSlice('\n')
		}
		r.Received, r.Waited = s.clock.Now(), waitedForCPU()-waited
		if err != nil {
			s.t.Fatalf("%s: read answer: %v\n%s", method, err, s.stderr.String())
		}
		r.Bytes += len(line)
		// An answer has its id at the end or the start; a notification none.
		if bytes.Contains(line, fmt.Appendf(nil, `"id":%d`, id)) {
			return r
		}
		r.Bytes = 0
	}
}

// waitedForCPU returns how long this thread has been runnable and not running,
// the second field of /proc/thread-self/schedstat.
func waitedForCPU() time.Duration {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	var ran, waited int64
	if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
		return 0
	}
	return time.Duration(waited)
}

func (s *Server) write(message any) stall.Instant {
	s.t.Helper()
	line, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	at := s.clock.Now()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		s.t.Fatalf("write request: %v\n%s", err, s.stderr.String())
	}
	return at
}

// Stop ends the process as its client would: the end of its input.
func (s *Server) Stop() {
	s.t.Helper()
	_ = s.in.Close()
	timer := time.AfterFunc(30*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	if err := s.end(); err != nil {
		s.t.Errorf("the process did not end in good order: %v\n%s", err, s.stderr.String())
	}
}

// Kill ends the process with SIGKILL, which leaves its socket behind.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.end()
}
