package dotnetipc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine is a made-up /proc with one process, which is this one.
type machine struct {
	t     *testing.T
	proc  Proc
	root  string // of the process
	inner int
}

const created = 123456

func newMachine(t *testing.T, environ ...string) *machine {
	t.Helper()
	m := &machine{t: t, proc: Proc{Root: t.TempDir()}, root: t.TempDir(), inner: 7}
	m.write("stat", fmt.Sprintf("%d (a name) with (parens) S %s%d 0 0\n", os.Getpid(), strings.Repeat("1 ", 18), created))
	m.write("status", fmt.Sprintf("Name:\tshop\nNSpid:\t%d\t%d\n", os.Getpid(), m.inner))
	m.write("environ", strings.Join(environ, "\x00")+"\x00")
	m.write("cmdline", "dotnet\x00/app/shop.dll\x00")
	m.write("comm", "dotnet\n")
	m.table()
	if err := os.Symlink(m.root, m.proc.path(os.Getpid(), "root")); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	path := m.proc.path(os.Getpid(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// table writes the table of unix sockets.
func (m *machine) table(paths ...string) {
	m.t.Helper()
	text := "Num       RefCount Protocol Flags    Type St Inode Path\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/other.sock\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 12345 @abstract\n" +
		"0000000000000000: 00000003 00000000 00000000 0001 03 12346\n"
	for _, p := range paths {
		text += "0000000000000000: 00000002 00000000 00010000 0001 01 23456 " + p + "\n"
	}
	m.write("net/unix", text)
}

// bind makes a socket in the process's root. Nobody need listen to be found.
func (m *machine) bind(dir, name string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Join(m.root, dir), 0o755); err != nil {
		m.t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(m.root, dir, name), Net: "unix"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = l.Close() })
}

func (m *machine) want(dir string) Endpoint {
	return Endpoint{
		Identity: Identity{PID: os.Getpid(), Created: created},
		Root:     m.proc.path(os.Getpid(), "root"), Dir: dir, Name: socketName(m.inner, created),
	}
}

func TestLocate(t *testing.T) {
	for _, c := range []struct {
		name    string
		environ []string
		dir     string
		table   bool
	}{
		{"no TMPDIR", []string{"PATH=/bin"}, "/tmp", false},
		{"TMPDIR", []string{"PATH=/bin", "TMPDIR=/scratch/"}, "/scratch", false},
		{"empty TMPDIR", []string{"TMPDIR="}, "/tmp", false},
		{"set by itself", nil, "/a b", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, c.environ...)
			want := m.want(c.dir)
			m.bind(c.dir, want.Name)
			if c.table {
				m.table(c.dir + "/" + want.Name)
			}
			got, err := m.proc.Locate(t.Context(), os.Getpid())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("endpoint (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLocateSaysWhyNot: the reason and the mend, in one line.
func TestLocateSaysWhyNot(t *testing.T) {
	old := socketName(7, created-1)
	for _, c := range []struct {
		name    string
		environ []string
		old     string
		is      error
		text    string
	}{
		{"no .NET", nil, "", ErrNoSocket, "is no .NET 5 or later"},
		{"off", []string{"DOTNET_EnableDiagnostics=0"}, "", ErrNoSocket, "DOTNET_EnableDiagnostics=0 turns it off: unset it"},
		{"IPC off", []string{"DOTNET_EnableDiagnostics_IPC=0x0"}, "", ErrNoSocket, "DOTNET_EnableDiagnostics_IPC=0x0 turns it off"},
		{"off by the old name", []string{"COMPlus_EnableDiagnostics=00"}, "", ErrNoSocket, "COMPlus_EnableDiagnostics=00 turns it off"},
		{"on", []string{"DOTNET_EnableDiagnostics=1"}, "", ErrNoSocket, "is no .NET 5 or later"},
		{"long TMPDIR", []string{"TMPDIR=/" + strings.Repeat("x", 90)}, "", ErrNoSocket, "at most 107 fit: give the process a TMPDIR shorter"},
		{"left of another", nil, old, ErrStaleSocket, old + " is of an earlier process"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, c.environ...)
			if c.old != "" {
				m.bind("/tmp", c.old)
			}
			_, err := m.proc.Locate(t.Context(), os.Getpid())
			if !errors.Is(err, c.is) {
				t.Errorf("got %v, want %v", err, c.is)
			}
			if text := oneLine(t, err); !strings.Contains(text, c.text) || !strings.Contains(text, strconv.Itoa(os.Getpid())) {
				t.Errorf("got %q, want the process and %q in it", text, c.text)
			}
		})
	}
	m := newMachine(t)
	if _, err := m.proc.Locate(t.Context(), os.Getpid()+1); !errors.Is(err, ErrNoProcess) {
		t.Errorf("a process that is not there: got %v", err)
	}
	m.write("stat", "7 (short) S 1\n")
	if _, err := m.proc.Locate(t.Context(), os.Getpid()); err == nil || !strings.Contains(err.Error(), "stat") {
		t.Errorf("a stat that is cut: got %v", err)
	}
}

func TestRuntimes(t *testing.T) {
	m := newMachine(t)
	if err := os.MkdirAll(m.proc.path(os.Getpid(), "ns"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("net:[1]", m.proc.path(os.Getpid(), "ns/net")); err != nil {
		t.Fatal(err)
	}
	look := func() []Identity {
		got, err := m.proc.Runtimes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := look(); len(got) != 0 {
		t.Errorf("no runtime: got %v", got)
	}
	m.table("/tmp/"+socketName(7, created+1), "/tmp/"+socketName(8, created))
	if got := look(); len(got) != 0 {
		t.Errorf("sockets of others: got %v", got)
	}
	m.table("/tmp/" + socketName(7, created))
	if diff := cmp.Diff([]Identity{{os.Getpid(), created}}, look()); diff != "" {
		t.Errorf("runtimes (-want +got):\n%s", diff)
	}
}

func TestEnvironment(t *testing.T) {
	m := newMachine(t, "PASSWORD=hunter2", "OTEL_SERVICE_NAME=shop", "DOTNET_gcServer=1", "DOTNET_STARTUP_HOOKS=/x.dll",
		"DOTNET_TieredCompilation=0", "DOTNET_ReadyToRun=0", "OTEL_EXPORTER_OTLP_HEADERS=key=secret", "COMPlus_GCHeapCount=2", "DOTNETX=1", "no equals sign")
	got, err := m.proc.Environment(t.Context(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"OTEL_SERVICE_NAME": "shop", "DOTNET_gcServer": "1", "DOTNET_TieredCompilation": "0", "DOTNET_ReadyToRun": "0", "COMPlus_GCHeapCount": "2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// TestEnvironmentOfWhatIsExecuted: nothing to read is no empty environment while the
// program is being executed.
func TestEnvironmentOfWhatIsExecuted(t *testing.T) {
	m := newMachine(t)
	m.write("environ", "")
	if got, err := m.proc.Environment(t.Context(), os.Getpid()); err != nil || got == nil || len(got) != 0 {
		t.Errorf("a program without one: got %v, %v, want none", got, err)
	}
	m.write("cmdline", "")
	if got, err := m.proc.Environment(t.Context(), os.Getpid()); !errors.Is(err, ErrStarting) {
		t.Errorf("a program that is being executed: got %v, %v, want %v", got, err, ErrStarting)
	}
}

func TestParseSocket(t *testing.T) {
	for _, c := range []struct {
		path string
		want bound
		ok   bool
	}{
		{"/tmp/dotnet-diagnostic-7-99-socket", bound{"/tmp", 7, 99}, true},
		{"/a b/dotnet-diagnostic-1-18446744073709551615-socket", bound{"/a b", 1, 1<<64 - 1}, true},
		{"/tmp/dotnet-diagnostic-7-99", bound{}, false},
		{"/tmp/dotnet-diagnostic-7-socket", bound{}, false},
		{"/tmp/dotnet-diagnostic-0-99-socket", bound{}, false},
		{"/tmp/dotnet-diagnostic-+7-99-socket", bound{}, false},
		{"/tmp/dotnet-diagnostic-7-18446744073709551616-socket", bound{}, false},
		{"/tmp/clr-debug-pipe-7-99-in", bound{}, false},
	} {
		if got, ok := parseSocket(c.path); got != c.want || ok != c.ok {
			t.Errorf("%s: got %+v, %v, want %+v, %v", c.path, got, ok, c.want, c.ok)
		}
	}
}
