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

// ParseCPUs reads a list of CPUs as the kernel writes it, such as "0-3,8". It
// returns each once, sorted.
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err1 != nil || err2 != nil || to < from || to >= maxCPUs {
			return nil, fmt.Errorf("parse list of CPUs: %.20q is not a CPU below %d, nor a span of them", part, maxCPUs)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, int(cpu))
		}
		if len(cpus) > 2*maxCPUs {
			return nil, fmt.Errorf("parse list of CPUs: more than %d", 2*maxCPUs)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

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
