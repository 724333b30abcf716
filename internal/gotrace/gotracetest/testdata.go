package gotracetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Case is one trace of the Go source tree's test data.
type Case struct {
	Name  string
	Good  bool // Go's own reader must accept it
	Bytes []byte
}

// GoTestdata returns the traces of internal/trace/testdata of this Go's source
// tree, assembled. It skips the test, aloud, if there is no such tree.
func GoTestdata(t testing.TB) []Case {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("skipped: go env GOROOT: %v", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src", "internal", "trace", "testdata", "tests")
	files, err := filepath.Glob(filepath.Join(dir, "*.test"))
	if err != nil || len(files) == 0 {
		t.Skipf("skipped: no traces in %s (a Go without sources?)", dir)
	}
	var cases []Case
	for _, f := range files {
		c, err := readCase(f)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// readCase reads a text archive of two files, "expect" and "trace".
func readCase(file string) (Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Case{}, err
	}
	expect, trace, ok := strings.Cut(string(text), "-- trace --\n")
	if !ok {
		return Case{}, fmt.Errorf("read %s: no trace in it", file)
	}
	data, err := Assemble(trace)
	if err != nil {
		return Case{}, fmt.Errorf("read %s: %w", file, err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".test")
	return Case{name, strings.Contains(expect, "SUCCESS"), data}, nil
}

// Captures returns the traces that programs of several Go versions recorded of
// themselves, by the name of the version. dir is the package's testdata.
func Captures(t testing.TB, dir string) []Case {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in %s (%v)", dir, err)
	}
	var cases []Case
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, Case{strings.TrimSuffix(filepath.Base(f), ".trace"), true, data})
	}
	return cases
}
