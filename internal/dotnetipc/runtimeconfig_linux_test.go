package dotnetipc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const runtimeConfig = `{"runtimeOptions": {"tfm": "net8.0", "configProperties": {
	"System.GC.Server": true, "System.GC.HeapCount": 4, "System.GC.RetainVM": "true", "System.GC.Nested": {},
	"System.Runtime.TieredPGO": false, "Shop.Secret": "hunter2"}}}`

// program makes pid a program: exe, working directory and arguments.
func (m *machine) program(exe, cwd string, args ...string) {
	m.t.Helper()
	for name, to := range map[string]string{"exe": exe, "cwd": cwd} {
		path := m.proc.path(os.Getpid(), name)
		_ = os.Remove(path)
		if err := os.Symlink(to, path); err != nil {
			m.t.Fatal(err)
		}
	}
	m.write("cmdline", strings.Join(args, "\x00")+"\x00")
}

func (m *machine) file(path, text string) {
	m.t.Helper()
	path = filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func TestRuntimeConfig(t *testing.T) {
	want := map[string]string{
		"System.GC.Server": "true", "System.GC.HeapCount": "4", "System.GC.RetainVM": "true", "System.Runtime.TieredPGO": "false",
	}
	for _, c := range []struct {
		name, exe, cwd string
		args           []string
		file           string
	}{
		{"apphost", "/app/Shop", "/", []string{"./Shop"}, "/app/Shop.runtimeconfig.json"},
		{"dotnet", "/usr/bin/dotnet", "/app", []string{"dotnet", "bin/Shop.dll", "x.dll"}, "/app/bin/Shop.runtimeconfig.json"},
		{"exec", "/usr/bin/dotnet", "/", []string{"dotnet", "exec", "--runtimeconfig", "/etc/shop.json", "/app/Shop.dll"}, "/etc/shop.json"},
	} {
		m := newMachine(t)
		m.program(c.exe, c.cwd, c.args...)
		m.file(c.file, runtimeConfig)
		got, err := m.proc.RuntimeConfig(t.Context(), os.Getpid())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// TestRuntimeConfigIsHostile: what the process may have put there is an error.
func TestRuntimeConfigIsHostile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte(runtimeConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(m *machine, path string) error{
		"not there": func(*machine, string) error { return nil },
		"no JSON":   func(_ *machine, path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"too large": func(_ *machine, path string) error {
			return os.WriteFile(path, make([]byte, maxRuntimeConfig+1), 0o600)
		},
		"a pipe":         func(_ *machine, path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory":    func(_ *machine, path string) error { return os.Mkdir(path, 0o700) },
		"leads out":      func(_ *machine, path string) error { return os.Symlink(outside, path) },
		"leads in loops": func(_ *machine, path string) error { return os.Symlink("Shop.runtimeconfig.json", path) },
	} {
		m := newMachine(t)
		m.program("/app/Shop", "/", "Shop")
		m.file("/app/Shop", "")
		if err := put(m, filepath.Join(m.root, "app/Shop.runtimeconfig.json")); err != nil {
			t.Fatal(err)
		}
		got, err := m.proc.RuntimeConfig(t.Context(), os.Getpid())
		if err == nil || got != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if missing := name == "not there" || name == "leads out"; missing != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want fs.ErrNotExist: %v", name, err, missing)
		}
	}
}

func FuzzParseRuntimeConfig(f *testing.F) {
	f.Add([]byte(runtimeConfig))
	f.Add([]byte(`{"runtimeOptions": {"configProperties": {"System.GC.Server": null}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		knobs, err := parseRuntimeConfig(text)
		if (knobs == nil) == (err == nil) || len(knobs) > maxKnobs {
			t.Errorf("got %d properties, %v", len(knobs), err)
		}
	})
}
