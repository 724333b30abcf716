package board

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/stall"
)

// Here returns where this process runs, in the terms in which the records of a
// board name their owners. In a PID namespace of its own a process cannot know
// its PID in the initial one: then no record of scope target applies.
func Here() *stall.Place {
	return &stall.Place{
		PID:     int32(os.Getpid()),
		Created: processCreated(),
		Cgroups: ownCgroups(os.DirFS("/")),
	}
}

// ownCgroups returns the ids of this process's cgroups that count CPU time, own
// first. Where nothing is known no record of a cgroup applies, which errs on the
// careful side.
func ownCgroups(root fs.FS) (ids []uint64) {
	groups, err := cgroup.Of(root, "self")
	if err != nil {
		return nil
	}
	for _, g := range groups {
		if id := g.Inode(root); id != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// createdField is the field in /proc/PID/stat in which two processes of one PID
// differ (proc_pid_stat(5), starttime).
const createdField = 22

// processCreated returns the creation time of this process in clock ticks
// since boot, 0 where that is not known.
func processCreated() uint64 {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name, field 2, may hold spaces and parentheses of its own.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const first = 3
	if len(f) <= createdField-first {
		return 0
	}
	n, _ := strconv.ParseUint(f[createdField-first], 10, 64)
	return n
}
