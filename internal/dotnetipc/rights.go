package dotnetipc

import (
	"bytes"
	"fmt"
	"os"
)

// Mend says how to get at the files of a process that may not be read from here: as
// its user, where that is another one, or with capabilities.
func (p Proc) Mend(pid int, capabilities string) string {
	switch uid, ok := p.user(pid); {
	case !ok:
		return "run as the process's user, or with " + capabilities
	case uid == os.Geteuid():
		return fmt.Sprintf("run with %s: to be the process's user (uid %d) is not enough here", capabilities, uid)
	default:
		return fmt.Sprintf("run as the process's user (uid %d), or with %s", uid, capabilities)
	}
}

// user returns the effective user of a process: the files of one that keeps its
// memory to itself are root's, whoever it runs as.
func (p Proc) user(pid int) (uid int, ok bool) {
	_, effective, err := p.uids(pid)
	return effective, err == nil
}

// UID returns the real user id of pid: whoever began it.
func (p Proc) UID(pid int) (int, error) {
	uid, _, err := p.uids(pid)
	return uid, err
}

// uids returns the real and the effective user of a process, by its status.
func (p Proc) uids(pid int) (uid, effective int, err error) {
	status, err := p.read(pid, "status", maxProcFile)
	if err != nil {
		return 0, 0, err
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("Uid:")); ok {
			if _, err := fmt.Sscan(string(value), &uid, &effective); err == nil {
				return uid, effective, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("read %s: no Uid", p.path(pid, "status"))
}
