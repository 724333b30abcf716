package stall

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// ErrNotSupported says that this system cannot do what was asked.
var ErrNotSupported = errors.New("not supported")

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// BootID returns the kernel's id of this boot: the name of the epoch of every
// [Instant]. It is not namespaced, so a container reads the host's. Snapshots
// of one virtual machine share it; host.id goes with it.
//
// Elsewhere than on Linux the error is [ErrNotSupported].
func BootID() (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("read boot id: %w on %s (no %s)", ErrNotSupported, runtime.GOOS, bootIDPath)
	}
	text, err := os.ReadFile(bootIDPath)
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	id := string(bytes.TrimSpace(text))
	if len(id) != 36 {
		return "", fmt.Errorf("read boot id: %s holds %q, want a UUID", bootIDPath, id)
	}
	return id, nil
}
