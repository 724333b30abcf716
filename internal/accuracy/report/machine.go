package report

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine says on what the figures were measured, in one line.
func machine() string {
	return fmt.Sprintf("%s; %d CPUs; %s/%s, kernel %s; %s; %s",
		cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, kernel(),
		runtime.Version(), time.Now().UTC().Format("2006-01-02"))
}

// cpuModel returns the name that the kernel gives the first CPU, with the
// numbers that tell apart what hypervisors call by one name.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer func() { _ = f.Close() }()
	facts := make(map[string]string)
	for s := bufio.NewScanner(f); s.Scan() && s.Text() != ""; {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok {
			facts[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	name := facts["model name"]
	if name == "" {
		return "unknown CPU"
	}
	name += fmt.Sprintf(" (family %s, model %s, %s MHz)", facts["cpu family"], facts["model"], facts["cpu MHz"])
	if strings.Contains(" "+facts["flags"]+" ", " hypervisor ") {
		name += ", virtual machine"
	}
	return name
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
