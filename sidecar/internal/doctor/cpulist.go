package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// cpuList reads a list of CPUs as the kernel writes it, such as "0-3,8"
// (Documentation/admin-guide/kernel-parameters.rst, "cpu lists"). It is sorted.
func cpuList(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		if part == "" || part == "(null)" {
			continue // an empty list; nohz_full writes the latter
		}
		low, high, is := strings.Cut(part, "-")
		if !is {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= maxCPUs {
			return nil, fmt.Errorf("holds %.20q, not a list of CPUs", text)
		}
		if len(cpus)+to-from >= maxCPUs {
			return nil, fmt.Errorf("holds more than %d CPUs", maxCPUs)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// cpuMask reads a mask of CPUs such as "ff,ffffffff", the highest first.
func cpuMask(text string) ([]int, error) {
	digits := strings.ReplaceAll(strings.TrimSpace(text), ",", "")
	if len(digits) > maxCPUs/4 {
		return nil, fmt.Errorf("holds a mask of more than %d CPUs", maxCPUs)
	}
	var cpus []int
	for i := range len(digits) {
		n, err := strconv.ParseUint(digits[len(digits)-1-i:len(digits)-i], 16, 4)
		if err != nil {
			return nil, fmt.Errorf("holds %.20q, not a mask of CPUs", text)
		}
		for bit := range 4 {
			if n&(1<<bit) != 0 {
				cpus = append(cpus, 4*i+bit)
			}
		}
	}
	return cpus, nil
}

// cpuListOf reads a file that holds a list of CPUs.
func (r root) cpuListOf(name string) ([]int, error) {
	text, err := r.text(name)
	if err != nil {
		return nil, err
	}
	return cpuList(text)
}

// cpuMaskOf reads a file that holds a mask of CPUs.
func (r root) cpuMaskOf(name string) ([]int, error) {
	text, err := r.text(name)
	if err != nil {
		return nil, err
	}
	return cpuMask(text)
}

// plural writes a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// few joins names, at most five of them.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
