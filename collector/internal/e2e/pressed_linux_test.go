package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// pressure is who takes the machine away from the shop, and how a sidecar tells.
type pressure struct {
	shop    []string // what starts the shop, and who competes with it
	sidecar []string // what starts the sidecar; nil for nothing
	follow  bool     // the shop's threads
	cause   string   // by which it has to be charged

	requests int    // that the shop has to serve
	rest     string // in each of them
}

// source is who tells what the machine did.
func (by *pressure) source() stall.Origin {
	if by.follow {
		return stall.TargetWatch
	}
	return stall.ProbePeriodic
}

// competitor is somebody who wants the one CPU that the shop has.
func competitor(t *testing.T) pressure {
	t.Helper()
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Skipf("skipped: two programs on one CPU: %v: taskset is of util-linux", err)
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	return pressure{shop: []string{taskset, "-c", fmt.Sprint(cpu)}, follow: true, cause: "host.preempted", requests: 200, rest: "25ms"}
}

// pressed is a shop that did its work under pressure.
type pressed struct {
	got, said map[string]said
	gaps      gaps
}

// press lets a shop work, from its first request to its last. It reads the board
// where the sidecar writes it, unless it is blind.
func (s *site) press(t *testing.T, out place, by pressure, service string, blind bool, args ...string) pressed {
	t.Helper()
	dir := t.TempDir()
	file, board := filepath.Join(dir, "answers.jsonl"), filepath.Join(dir, "board")
	shown := board
	if blind {
		shown = "off"
	}
	env := append(s.senderEnv(service, "grpc", shown), "GOGC=100")
	args = append([]string{"-answers", file, "-requests", fmt.Sprint(by.requests), "-rest", by.rest, "-last"}, args...)
	var sidecar *process
	if !by.follow { // then nobody need be there before the board is
		sidecar = s.follow(t, by, board, nil)
	}
	shop := out.startShop(t, asItIs, by.shop, service, env, args...)
	if by.follow {
		sidecar = s.follow(t, by, board, shop.process)
	}
	f, enough := followBoard(t, board)
	out.hear(t, "e2e-sidecar", by.source(), monotonic(t), sidecar)
	taker := startBy(t, by.shop, asItIs, nil, "sh", "-c", "while :; do :; done")
	shop.work(t)
	taker.kill()
	// All gaps before now are among the events, and known when the spans come.
	out.hear(t, "e2e-sidecar", by.source(), monotonic(t), sidecar)
	shop.finish(t)
	got := out.come(t, service, by.requests)
	enough()
	return pressed{got, answers(t, file), f.split(t, out.events())}
}

// follow starts a sidecar, and waits until it does its work.
func (s *site) follow(t *testing.T, by pressure, board string, shop *process) *process {
	t.Helper()
	args, ready := []string{"run", "--mode", "periodic", "--board", board}, "writing the board"
	if by.follow {
		args, ready = append(args, "--target", fmt.Sprint(shop.cmd.Process.Pid)), "following the target's threads"
	}
	p := startBy(t, by.sidecar, asItIs, s.sidecarEnv("grpc", board), s.programs.sidecar, args...)
	eventually(t, "the sidecar", func() error {
		switch said := p.output(); {
		case strings.Contains(said, "counted, not followed"):
			t.Skipf("skipped: what a competitor takes from a process: its threads cannot be followed here: %s", said)
		case !strings.Contains(said, ready):
			return fmt.Errorf("it has not said %q", ready)
		}
		return nil
	}, p)
	return p
}
