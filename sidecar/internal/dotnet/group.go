package dotnet

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// unseenGroup is the group of the processes that cannot be seen from here.
const unseenGroup = "processes that cannot be seen"

// groupOf returns with whom a process shares its part of what the sidecar has: by
// what the kernel says of it, the pod, the container or the user that it is of.
func groupOf(proc dotnetipc.Proc, id dotnetipc.Identity) string {
	if id.PID == 0 {
		return unseenGroup
	}
	if text, err := proc.Cgroup(id.PID); err == nil {
		if owner := cgroup.OwnerOf(text); owner != "" {
			return owner
		}
	}
	uid, err := proc.UID(id.PID)
	if err != nil {
		return unseenGroup // it has ended
	}
	return fmt.Sprintf("user %d", uid)
}

// memoryLimit returns how many bytes of memory the sidecar may have, 0 for any:
// GOMEMLIMIT, and what its cgroup leaves of it. Where there is no GOMEMLIMIT, the
// heap may grow to twice what is in use.
func memoryLimit() int64 {
	own := debug.SetMemoryLimit(-1)
	limit, err := cgroup.MemoryLimit(os.DirFS("/"), "self")
	switch set := own < unlimited; {
	case (err != nil || limit == 0 || limit >= unlimited) && set:
		return own
	case err != nil || limit == 0 || limit >= unlimited:
		return 0
	case set:
		return min(own, limit/4*3)
	}
	return limit / 2
}

// unlimited is more memory than a machine has: what the kernel and Go say for none.
const unlimited = 1 << 50
