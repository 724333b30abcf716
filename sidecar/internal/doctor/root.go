package doctor

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/proc"
)

// Limits of what is read, beside that of proc.Read.
const (
	maxEntries = 1 << 14 // of a directory
	maxCPUs    = 1 << 13 // CONFIG_NR_CPUS of the largest distribution kernels
)

// root is the root of the file system, of a fake machine in tests.
type root struct{ fs.FS }

// text returns a file without the space around it.
func (r root) text(name string) (string, error) {
	data, err := proc.Read(r, name)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(data)), nil
}

// parsed returns what parse reads of a file.
func parsed[T any](r root, name string, parse func(string) (T, error)) (v T, err error) {
	text, err := r.text(name)
	if err != nil {
		return v, err
	}
	return parse(text)
}

// number returns a file that holds one whole number.
func (r root) number(name string) (int64, error) {
	return parsed(r, name, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("holds %.20q, not a number", text)
		}
		return n, nil
	})
}

// list returns the names in a directory, at most maxEntries of them.
func (r root) list(name string) ([]string, error) {
	names, _, err := proc.List(r, name, maxEntries)
	return names, err
}

// field returns the value of one line of a file of "Name: value" lines, such
// as /proc/PID/status. It reports false if there is no such line.
func field(text, name string) (string, bool) {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// chosen returns the choice in force in a file such as "always [madvise] never", by
// the two marks around it, or all of the text.
func chosen(text, marks string) string {
	if _, rest, is := strings.Cut(text, marks[:1]); is {
		if in, _, is := strings.Cut(rest, marks[1:]); is {
			return in
		}
	}
	return text
}

// parseCPUMask reads a mask of CPUs such as "ff,ffffffff", the highest first.
func parseCPUMask(text string) ([]int, error) {
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

// cpuList returns a file that holds a list of CPUs.
func (r root) cpuList(name string) ([]int, error) { return parsed(r, name, proc.ParseCPUs) }

// cpuMask returns a file that holds a mask of CPUs.
func (r root) cpuMask(name string) ([]int, error) { return parsed(r, name, parseCPUMask) }

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
