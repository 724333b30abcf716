package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// cpuTime is what /proc/stat counts of a CPU, in clock ticks.
type cpuTime struct {
	known            bool
	all, busy, steal uint64
}

// cpuTimes sums what /proc/stat says of some CPUs, of all for none. All is the sum
// of the first eight numbers, as guest time is contained in user time
// (proc_stat(5)), busy all but idle, iowait and steal.
func (m *machine) cpuTimes(cpus ...int) (sum cpuTime, err error) {
	text, err := m.text("proc/stat")
	if err != nil {
		return cpuTime{}, err
	}
	names := map[string]bool{}
	for _, cpu := range cpus {
		names["cpu"+strconv.Itoa(cpu)] = true
	}
	if len(cpus) == 0 {
		names["cpu"] = true
	}
	found := 0
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 9 || !names[f[0]] {
			continue
		}
		found++
		for i, s := range f[1:9] {
			n, err := strconv.ParseUint(s, 10, 48)
			if err != nil {
				return cpuTime{}, fmt.Errorf("holds %.20q, not a number", s)
			}
			sum.all += n
			const idle, iowait, steal = 3, 4, 7
			switch i {
			case idle, iowait:
			case steal:
				sum.steal += n
			default:
				sum.busy += n
			}
		}
	}
	if found != len(names) {
		return cpuTime{}, fmt.Errorf("no line of eight numbers for each of %d CPUs", len(names))
	}
	sum.known = true
	return sum, nil
}
