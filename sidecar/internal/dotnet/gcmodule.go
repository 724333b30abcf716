package dotnet

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// maxMaps bounds the mappings of a process that are looked at.
const maxMaps = 1 << 16

// gcModule returns the file of the collector that a process has loaded instead
// of the one that is part of its runtime, empty for none, and whether anybody
// may look: libclrgc.so and libclrgcexp.so, which GCName loads.
func gcModule(ctx context.Context, proc dotnetipc.Proc, pid int) (name string, ok bool) {
	name, err := dotnetipc.Look(ctx, proc, pid, func() (string, error) { return mappedGC(proc, pid) })
	return name, err == nil
}

func mappedGC(proc dotnetipc.Proc, pid int) (string, error) {
	root := proc.Root
	if root == "" {
		root = "/proc"
	}
	f, err := os.Open(filepath.Join(root, strconv.Itoa(pid), "maps"))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	for n := 0; lines.Scan(); n++ {
		if n == maxMaps {
			return "", errors.New("too many mappings")
		}
		_, path, found := strings.Cut(lines.Text(), "/")
		if base := filepath.Base(path); found && (base == "libclrgc.so" || base == "libclrgcexp.so") {
			return base, nil
		}
	}
	return "", lines.Err()
}
