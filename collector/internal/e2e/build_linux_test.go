package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// binaries are the programs under test.
type binaries struct{ collector, sidecar, http, providers, shop, plain, outside string }

// scratch holds the binaries until all tests are over.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(withScratch(m.Run))
}

func withScratch(run func() int) int {
	dir, err := os.MkdirTemp("", "otelgc-e2e-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // some run as another user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	return run()
}

// build makes all of them once, when the first test asks.
var build = sync.OnceValues(func() (binaries, error) {
	b := binaries{
		collector: filepath.Join(scratch, "otelcol-otelgc"),
		sidecar:   filepath.Join(scratch, "otelgc-sidecar"),
		http:      filepath.Join(scratch, "http"),
		providers: filepath.Join(scratch, "providers"),
		shop:      filepath.Join(scratch, "shop"),
		plain:     filepath.Join(scratch, "plain"),
		outside:   filepath.Join(scratch, fmt.Sprintf("orders%d", os.Getpid())), // it is looked for by its name
	}
	for _, of := range []struct{ out, module, pkg string }{
		{b.collector, "../..", "./otelcol-otelgc"},
		{b.shop, "../..", "./internal/e2e/shop"},
		{b.plain, "../..", "./internal/e2e/plain"},
		{b.sidecar, "../../..", "./sidecar"},
		{b.http, "../../../examples", "./http"},
		{b.providers, "../../../examples", "./providers"},
		{b.outside, "../../../examples", "./go-outside"},
	} {
		if err := compile(of.out, of.module, of.pkg); err != nil {
			return b, err
		}
	}
	return b, nil
})

// compile makes the program out of a package of the module in a directory.
func compile(out, module, pkg string) error {
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s of %s: %w\n%s", pkg, module, err, text)
	}
	return nil
}

func programs(t *testing.T) binaries {
	t.Helper()
	b, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
