package gouprobe

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/goprogram"
)

// TestVariants finds the function in programs that were linked in other ways, as the
// disassembler of Go does, and attaches to them when they are stripped, too.
func TestVariants(t *testing.T) {
	for _, toolchain := range []string{"go1.22.12", "go1.25.9", "local"} {
		for name, args := range map[string][]string{
			"plain":         nil,
			"pie":           {"-buildmode=pie"},
			"external":      {"-ldflags=-linkmode=external"},
			"external pie":  {"-buildmode=pie", "-ldflags=-linkmode=external"},
			"not optimized": {"-gcflags=all=-N -l"},
		} {
			if name == "not optimized" && toolchain != "local" {
				continue // it compiles all of the standard library: one release does
			}
			t.Run(toolchain+" "+name, func(t *testing.T) {
				if _, err := exec.LookPath("gcc"); err != nil && strings.HasPrefix(name, "external") {
					t.Skip("there is no C compiler")
				}
				exe := build(t, toolchain, args...)
				s := read(t, exe)
				want := disassemble(t, exe)
				if diff := cmp.Diff(want, append([]uint64{s.push}, s.returns...)); diff != "" {
					t.Errorf("PUSHQ BP, and each RET (-want +got):\n%s", diff)
				}
				stripped := build(t, toolchain, strip(args)...)
				if _, err := exec.LookPath("strip"); err == nil && strings.HasPrefix(name, "external") {
					if out, err := exec.Command("strip", stripped).CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				p := start(t, stripped)
				source := attachTo(t, p.pid())
				wait := follow(t, source)
				before := p.ask("stats")
				after := p.ask("work 10")
				stop(t, source, wait).check(t, source, before, after, 1)
			})
		}
	}
}

// TestInlined: where a profile has the compiler put the function into one that calls it,
// not all stops come to it, and the program is refused. In testdata/inlined.pgo
// runtime.startTheWorld.func1 calls it all the time.
func TestInlined(t *testing.T) {
	profile, err := filepath.Abs("testdata/inlined.pgo")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(build(t, "local", "-pgo="+profile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if s, err := find(f, releases["go1.26"]); !errors.Is(err, errInlined) {
		t.Errorf("got %+v, %v, want %v", s, err, errInlined)
	}
}

// strip has the linker leave all symbols out.
func strip(args []string) (out []string) {
	flags := "-ldflags=-s -w"
	for _, a := range args {
		if more, ok := strings.CutPrefix(a, "-ldflags="); ok {
			flags += " " + more
		} else {
			out = append(out, a)
		}
	}
	return append(out, flags)
}

func read(t *testing.T, exe string) sites {
	t.Helper()
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	p, err := goprogram.ReadExecutable(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := findRelease(p.Version)
	if err != nil {
		t.Fatal(err)
	}
	s, err := find(f, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var line = regexp.MustCompile(`(?m)^\s+\S+\s+0x([0-9a-f]+)\s+[0-9a-f]+\s+(PUSHQ BP|RET)\b`)

// disassemble returns where in the file PUSHQ BP and each RET of the function are.
func disassemble(t *testing.T, exe string) (at []uint64) {
	t.Helper()
	out, err := exec.Command("go", "tool", "objdump", "-s", "^"+regexp.QuoteMeta(startTheWorld)+"$", exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text := f.Section(".text")
	for _, m := range line.FindAllSubmatch(out, -1) {
		a, err := strconv.ParseUint(string(m[1]), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, a-text.Addr+text.Offset)
	}
	return at
}

// TestReasons reads the runtime of each release: its names are those that we give.
func TestReasons(t *testing.T) {
	name := regexp.MustCompile(`(?m)^\tstw(\w+):\s+"(.*)",$`)
	constant := regexp.MustCompile(`(?m)^\tstw(\w+) .*// "(.*)"$`)
	for _, toolchain := range toolchains {
		t.Run(toolchain, func(t *testing.T) {
			cmd := exec.Command("go", "env", "GOROOT")
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOWORK=off")
			root, err := cmd.Output()
			if err != nil {
				t.Skipf("no toolchain %s: %v", toolchain, err)
			}
			text, err := os.ReadFile(filepath.Join(string(bytes.TrimSpace(root)), "src/runtime/proc.go"))
			if err != nil {
				t.Skipf("no source of the runtime: %v", err)
			}
			names := map[string]string{}
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				names[m[1]] = m[2]
			}
			var got []string
			for _, m := range constant.FindAllStringSubmatch(string(text), -1) {
				got = append(got, names[m[1]])
			}
			if diff := cmp.Diff(reasons[:], got); diff != "" {
				t.Errorf("reasons (-ours +the runtime's):\n%s", diff)
			}
		})
	}
}
