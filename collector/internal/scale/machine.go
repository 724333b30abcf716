package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine returns one line of facts about where this runs.
func machine() string {
	model := "unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("unknown")
	}
	return fmt.Sprintf("%s; %d CPUs; %s/%s, kernel %s; %s; %s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		strings.TrimSpace(string(kernel)), runtime.Version(), time.Now().UTC().Format(time.DateOnly))
}

// busy returns how many processes of the machine wanted a CPU of late, proc(5),
// as the kernel writes it.
func busy() string {
	text, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); err == nil && len(f) > 0 {
		return f[0]
	}
	return "unknown"
}
