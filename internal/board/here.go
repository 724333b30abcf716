package board

import (
	"io/fs"
	"os"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/proc"
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

// processCreated returns the creation time of this process in clock ticks
// since boot, 0 where that is not known.
func processCreated() uint64 {
	s, err := proc.ReadStat(os.DirFS("/"), "self")
	if err != nil {
		return 0
	}
	return s.Created
}
