package azmcp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrMissing says that the program is not on this machine, or not for it. The
// text names the mend.
var ErrMissing = errors.New("azmcp, a .NET process, is not there")

// Variable names the program, where it is set.
const Variable = "OTELGC_AZMCP"

// Find returns the path of the program: $OTELGC_AZMCP, else azmcp-linux-x64 or
// azmcp on the PATH, else what .ci/run put into .cache/npm of the directory
// that this process is in, or of one above it.
func Find() (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("%w: it is built for linux/amd64, and this is %s/%s", ErrMissing, runtime.GOOS, runtime.GOARCH)
	}
	if path := os.Getenv(Variable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", Variable, err)
		}
		return path, nil
	}
	for _, name := range []string{"azmcp-linux-x64", "azmcp"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("look for azmcp: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".cache/npm/node_modules/@azure/mcp-linux-x64/dist/azmcp")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: npm install @azure/mcp-linux-x64 and set %s, or .ci/run npm", ErrMissing, Variable)
}
