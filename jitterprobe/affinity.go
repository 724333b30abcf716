package jitterprobe

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrCPU says that the probe may not run on the CPU that was asked for: it does
// not exist, or the cpuset or affinity of this process excludes it.
var ErrCPU = errors.New("not allowed")

// pickCPU returns the CPU that is wanted, or the last allowed one.
func pickCPU(want *int, allowed []int) (int, error) {
	if len(allowed) == 0 {
		return -1, nil
	}
	if want == nil {
		return allowed[len(allowed)-1], nil
	}
	if !slices.Contains(allowed, *want) {
		return -1, fmt.Errorf("probe cpu %d: %w (allowed: %s)", *want, ErrCPU, cpuList(allowed))
	}
	return *want, nil
}

// maxCPUs bounds the numbers of CPUs: the size of a cpu_set_t.
const maxCPUs = 1024

// cpuList writes sorted numbers as the kernel does, such as "0-3,8".
func cpuList(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}
