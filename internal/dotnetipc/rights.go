package dotnetipc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
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

// user returns the effective user of a process, by its status: the files of one that
// keeps its memory to itself are root's, whoever it runs as.
func (p Proc) user(pid int) (uid int, ok bool) {
	status, err := p.read(pid, "status", maxProcFile)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(status) {
		value, is := bytes.CutPrefix(line, []byte("Uid:"))
		if f := bytes.Fields(value); is && len(f) > 1 {
			uid, err := strconv.Atoi(string(f[1])) // real, effective, saved, of files
			return uid, err == nil
		}
	}
	return 0, false
}
