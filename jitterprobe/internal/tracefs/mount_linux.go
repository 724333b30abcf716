package tracefs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mount mounts a tracefs that is attached nowhere. It needs CAP_SYS_ADMIN and
// Linux 5.2.
func mount() (*FS, error) {
	fs, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open tracefs: %w", err)
	}
	err = unix.FsconfigCreate(fs)
	fd := -1
	if err == nil {
		fd, err = unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY)
	}
	_ = unix.Close(fs) // the mount does not need it
	if err != nil {
		return nil, fmt.Errorf("mount tracefs: %w", err)
	}
	return &FS{dir: fmt.Sprintf("/proc/self/fd/%d", fd), file: os.NewFile(uintptr(fd), "tracefs")}, nil
}
