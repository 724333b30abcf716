package e2e

import (
	"errors"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// probed is what the document of a run says of its probe.
type probed struct {
	Mode   string
	CPU    int
	Limits []string
	Causes map[string]struct{ Gaps int }
}

// TestSpinRights: what the sidecar with spin runs, as root with PERFMON and tracefs
// to read, spins on its CPU, and knows the causes that it is
// there for. With less it says which causes it cannot tell, and the mend.
func TestSpinRights(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("skipped: a probe spins where there are two CPUs")
	}
	f := deployed(t, "spin")
	for _, c := range []struct {
		name    string
		with    flavour
		tracefs bool
		limit   string // what it says of a cause that it cannot tell, and the mend
	}{
		{"as deployed", f, true, ""},
		{"without PERFMON", f.without("perfmon"), true, "CAP_PERFMON"},
		{"without tracefs", f, false, "mount tracefs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sidecar := spin(t, c.with, c.tracefs)
			eventually(t, "the probe", func() error {
				over := sidecar.over()
				switch said := sidecar.output(); {
				case strings.Contains(said, "refuse to spin"):
					t.Skipf("skipped: a probe that spins: %s", said)
				case over:
					t.Fatalf("it ended: %s", said)
				case !strings.Contains(said, "mode=spin"):
					return errors.New("it has not said that it spins")
				}
				return nil
			})
			disturb(t, sidecar)
			sidecar.stop(t)
			var got probed
			sidecar.document(t, &got)
			if !sidecar.cmd.ProcessState.Success() || got.Mode != "spin" {
				t.Errorf("the sidecar ended with %v in mode %q", sidecar.cmd.ProcessState, got.Mode)
			}
			t.Logf("causes %v, limits %q", got.Causes, got.Limits)
			if got.Causes["host.preempted"].Gaps == 0 {
				t.Error("no gap is host.preempted, with another program on the CPU")
			}
			if c.limit == "" {
				if len(got.Limits) > 0 || strings.Contains(sidecar.output(), "level=WARN") {
					t.Errorf("it complains: %q\n%s", got.Limits, sidecar.output())
				}
				if got.Causes["host.irq"].Gaps == 0 {
					t.Error("no gap is host.irq, with the ticks of its CPU")
				}
				return
			}
			if len(got.Limits) != 1 || !strings.Contains(got.Limits[0], "host.irq") || !strings.Contains(got.Limits[0], c.limit) {
				t.Errorf("limits %q, want one of host.irq with %q", got.Limits, c.limit)
			}
			if !strings.Contains(sidecar.output(), "cannot be decided") || got.Causes["host.irq"].Gaps > 0 {
				t.Errorf("it does not say at its start what it cannot tell, or tells it: %v", got.Causes)
			}
		})
	}
}

// spin starts the sidecar in a mount namespace of its own, where tracefs is
// mounted to be read, as the chart has it, or is not there.
func spin(t *testing.T, f flavour, tracefs bool) *process {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skipf("skipped: to mount tracefs for the sidecar alone: %v", err)
	}
	// Bound again to be read: a mount of its own that is read-only would make
	// that of everybody so.
	mount := "mount -t tracefs tracefs /sys/kernel/tracing && mount -o remount,bind,ro /sys/kernel/tracing"
	if !tracefs {
		mount = "mount -t tmpfs tmpfs /sys/kernel/tracing && { ! mountpoint -q /sys/kernel/debug || mount -t tmpfs tmpfs /sys/kernel/debug; }"
	}
	args := []string{"--mount", "--propagation", "private", "/bin/sh", "-c", mount + ` && exec "$@"`, "sh"}
	return start(t, f.alone(t), unshare, append(args, f.command(t, "--json")...)...)
}

var onCPU = regexp.MustCompile(`msg=probing .*cpu=(\d+)`)

// disturb runs another program on the CPU of the probe for as long as it takes
// to be scheduled there a few times.
func disturb(t *testing.T, sidecar *process) {
	t.Helper()
	m := onCPU.FindStringSubmatch(sidecar.output())
	if m == nil {
		t.Fatalf("it does not say on which CPU it spins:\n%s", sidecar.output())
	}
	other := start(t, nil, "taskset", "-c", m[1], "/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
	other.wait(t)
}
