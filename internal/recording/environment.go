package recording

import (
	"cmp"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/proc"
)

// Describe says what machine and what system root belongs to; root is
// os.DirFS("/") but in tests. What cannot be read is empty: a report says that
// it is missing.
func Describe(root fs.FS) (machine, system string) {
	cpus := text(root, "proc/cpuinfo")
	model := valueOf(cpus, ":", "model name", "Model", "cpu model")
	// All of the machine's, which can be more than a process may use.
	online := cmp.Or(len(values(cpus, ":", "processor")), runtime.NumCPU())
	memory := valueOf(text(root, "proc/meminfo"), ":", "MemTotal")
	if model != "" && memory != "" {
		machine = fmt.Sprintf("%s, %d CPUs online, %s of memory", model, online, kilobytes(memory))
		if product := strings.TrimSpace(text(root, "sys/class/dmi/id/product_name")); product != "" {
			machine = product + ": " + machine
		}
	}
	name := strings.Trim(valueOf(text(root, "etc/os-release"), "=", "PRETTY_NAME"), `"`)
	release := strings.TrimSpace(text(root, "proc/sys/kernel/osrelease"))
	if release != "" {
		system = "Linux " + release
		if name != "" {
			system = name + ", " + system
		}
	}
	return machine, system
}

// text returns a file of the machine, empty if it cannot be read.
func text(root fs.FS, name string) string {
	b, _ := proc.Read(root, name)
	return string(b)
}

// values returns the values of the lines that have one of the names.
func values(text, separator string, names ...string) (list []string) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, separator)
		if ok && slices.Contains(names, strings.TrimSpace(name)) {
			list = append(list, strings.TrimSpace(value))
		}
	}
	return list
}

func valueOf(text, separator string, names ...string) string {
	return append(values(text, separator, names...), "")[0]
}

// kilobytes writes "8029712 kB" in GiB.
func kilobytes(s string) string {
	digits, _, _ := strings.Cut(s, " ")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return s
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<20))
}
