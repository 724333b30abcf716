package queries

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// node returns a command that runs a script that needs a module of package.json.
// They are where OTELGC_NODE_MODULES says, or in the tree's cache.
func node(t *testing.T, module, script string, args ...string) *exec.Cmd {
	t.Helper()
	modules := os.Getenv("OTELGC_NODE_MODULES")
	if modules == "" {
		modules = "../../../.cache/queries/node_modules"
	}
	modules, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, module)); err != nil {
		t.Skipf("no module for node: %v (mend: .ci/run npm, or set OTELGC_NODE_MODULES)", err)
	}
	if _, err := os.Stat(script); err != nil { // and a script that changed is run anew
		t.Fatal(err)
	}
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	cmd := exec.Command(path, append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	return cmd
}
