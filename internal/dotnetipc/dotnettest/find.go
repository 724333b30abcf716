package dotnettest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Program is the path of azmcp. The test skips if it is not installed.
func Program(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("needs linux/amd64, for which azmcp is built; this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if path := os.Getenv("OTELGC_AZMCP"); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("OTELGC_AZMCP: %v", err)
		}
		return path
	}
	for _, name := range []string{"azmcp-linux-x64", "azmcp"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if path := cached(); path != "" {
		return path
	}
	t.Skip("needs azmcp, a .NET process: npm install @azure/mcp-linux-x64 and set OTELGC_AZMCP, or .ci/run npm")
	return ""
}

// cached returns where .ci/run installed azmcp, empty if it did not.
func cached() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".cache/npm/node_modules/@azure/mcp-linux-x64/dist/azmcp")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
