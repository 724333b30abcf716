package board

import (
	"os"

	"github.com/otelgc/otelgc/jitterprobe/internal/cgroup"
	"github.com/otelgc/otelgc/stall"
)

// Here returns where this process runs, in the terms in which the records of a
// board name their owners. In a PID namespace of its own a process cannot know
// its PID in the initial one: then no record of scope target applies.
func Here() *stall.Place {
	return &stall.Place{
		PID:     int32(os.Getpid()),
		Created: processCreated(),
		Cgroups: cgroup.IDs("/"),
	}
}
