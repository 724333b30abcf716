package goprocess

import (
	"errors"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/jitterprobe"
)

// Procs returns the GOMAXPROCS that p begins with on so many CPUs and under a
// quota of its own cgroup, 0 for none (runtime.GOMAXPROCS, "default"). What the
// program sets later is not known.
func (p *Process) Procs(cpus int, quota float64) int {
	if n, set := p.SetProcs(); set {
		return n
	}
	if quota > 0 && p.HeedsQuota() {
		return min(cpus, max(2, int(math.Ceil(min(quota, math.MaxInt32)))))
	}
	return cpus
}

// SetProcs returns the GOMAXPROCS that the environment says, if it says one that
// the runtime takes.
func (p *Process) SetProcs() (int, bool) {
	n, err := strconv.ParseInt(p.Env["GOMAXPROCS"], 10, 32)
	return int(n), err == nil && n > 0
}

// HeedsQuota reports whether the runtime takes the quota of its cgroup into
// account: since Go 1.25, unless GODEBUG has containermaxprocs=0, in the
// environment or as the program was built.
func (p *Process) HeedsQuota() bool {
	debug := p.Settings["DefaultGODEBUG"]
	if e := p.Env["GODEBUG"]; strings.Contains(e, "containermaxprocs=") {
		debug = e
	}
	release, _, _ := strings.Cut(strings.TrimPrefix(p.Version, "devel "), " ") // "devel go1.27-5401ec7 Sun Nov"
	return version.Compare(release, "go1.25") >= 0 && !strings.Contains(debug, "containermaxprocs=0")
}

// maxStatus bounds a /proc/PID/status.
const maxStatus = 1 << 16

// CPUs returns how many CPUs a process may use: those of its affinity that are
// online. On a machine that more can be added to, the affinity has them already.
func CPUs(root fs.FS, pid int) (int, error) {
	status, err := text(root, file(pid, "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(status) {
		list, ok := strings.CutPrefix(line, "Cpus_allowed_list:")
		if !ok {
			continue
		}
		allowed, err := jitterprobe.ParseCPUs(list)
		if err != nil {
			return 0, fmt.Errorf("read /%s: %w", file(pid, "status"), err)
		}
		return Online(root, allowed), nil
	}
	return 0, fmt.Errorf("read /%s: no Cpus_allowed_list", file(pid, "status"))
}

// Online counts which of cpus are online; all are where nobody says.
func Online(root fs.FS, cpus []int) int {
	list, err := text(root, "sys/devices/system/cpu/online")
	if err != nil {
		return len(cpus)
	}
	online, err := jitterprobe.ParseCPUs(list)
	if err != nil {
		return len(cpus)
	}
	there, n := make(map[int]bool), 0
	for _, cpu := range online {
		there[cpu] = true
	}
	for _, cpu := range cpus {
		if there[cpu] {
			n++
		}
	}
	return n
}

func text(root fs.FS, name string) (string, error) {
	f, err := open(root, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxStatus+1))
	if err == nil && len(b) > maxStatus {
		err = fmt.Errorf("read /%s: longer than %d bytes", name, maxStatus)
	}
	return string(b), err
}

// Quota returns the quota of a process's own cgroup, 0 for none: the runtime looks
// at no ancestor (runtime, cgroup_linux.go). The error is cgroup.ErrUnseen if that
// cgroup cannot be seen from here.
func Quota(root fs.FS, pid int) (float64, error) {
	own, err := cgroup.Own(root, strconv.Itoa(pid))
	if errors.Is(err, cgroup.ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	q, err := own.Quota(root)
	return q.CPUs, err
}
