package doctor

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// TestLoadProgram: the kernel takes the program, or refuses it for want of rights,
// and not since it is none.
func TestLoadProgram(t *testing.T) {
	err := loadProgram()
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOSYS) {
		t.Errorf("got %v, want none, or a refusal", err)
	}
	t.Logf("loaded: %v", err)
}
