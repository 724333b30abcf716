package recording

import (
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
)

// maxFile bounds what is read of a file that describes the machine.
const maxFile = 1 << 20

// Describe says what machine and what system root belongs to; root is
// os.DirFS("/") but in tests. What cannot be read is empty: a report says that
// it is missing.
func Describe(root fs.FS) (machine, system string) {
	model := valueOf(text(root, "proc/cpuinfo"), ":", "model name", "Model", "cpu model")
	memory := valueOf(text(root, "proc/meminfo"), ":", "MemTotal")
	if model != "" && memory != "" {
		machine = fmt.Sprintf("%s, %d CPUs online, %s of memory", model, online(root), kilobytes(memory))
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

func text(root fs.FS, name string) string {
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	b := make([]byte, maxFile)
	n := 0
	for n < len(b) {
		k, err := f.Read(b[n:])
		n += k
		if err != nil {
			break
		}
	}
	return string(b[:n])
}

// valueOf returns the value of the first line that has one of the names.
func valueOf(text, separator string, names ...string) string {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, separator)
		for _, n := range names {
			if ok && strings.TrimSpace(name) == n {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// online counts the CPUs of the machine, which can be more than a process may
// use.
func online(root fs.FS) int {
	n := 0
	for line := range strings.Lines(text(root, "proc/cpuinfo")) {
		if name, _, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "processor" {
			n++
		}
	}
	if n == 0 {
		n = runtime.NumCPU()
	}
	return n
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
