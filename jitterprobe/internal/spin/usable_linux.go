package spin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/otelgc/otelgc/stall"
)

const (
	clocksourcePath = "sys/devices/system/clocksource/clocksource0/current_clocksource"
	cpuinfoPath     = "proc/cpuinfo"
)

// Usable returns nil if the counter runs at a constant rate, through all sleep
// states, and the kernel itself keeps time with it: then ticks are the same on
// every CPU. The error names what is missing. The files are read below root,
// which is "/" but in tests.
func Usable(root string) error {
	if !hasCounter {
		return fmt.Errorf("cycle counter: %w in this build (%s, no assembly)", stall.ErrNotSupported, runtime.GOARCH)
	}
	source, err := os.ReadFile(filepath.Join(root, clocksourcePath))
	if err != nil {
		return fmt.Errorf("cycle counter: read clock source: %w", err)
	}
	got, want := string(bytes.TrimSpace(source)), "tsc"
	if runtime.GOARCH == "arm64" {
		want = "arch_sys_counter"
	}
	if got != want {
		return fmt.Errorf("cycle counter: clock source is %s, not %s", got, want)
	}
	if runtime.GOARCH != "amd64" {
		return nil
	}
	return constantTSC(filepath.Join(root, cpuinfoPath))
}

// constantTSC reads the flags of the first CPU; the kernel clears them for all
// where one lacks them.
func constantTSC(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cycle counter: read CPU flags: %w", err)
	}
	for line := range bytes.Lines(text) {
		name, flags, _ := bytes.Cut(line, []byte(":"))
		if string(bytes.TrimSpace(name)) != "flags" {
			continue
		}
		have := make(map[string]bool)
		for f := range bytes.FieldsSeq(flags) {
			have[string(f)] = true
		}
		for _, want := range []string{"constant_tsc", "nonstop_tsc"} {
			if !have[want] {
				return fmt.Errorf("cycle counter: the CPU lacks %s", want)
			}
		}
		return nil
	}
	return fmt.Errorf("cycle counter: no flags in %s", path)
}
