package main

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// realtime gives the probe's thread real-time priority beside a competitor that
// has none: the kernel keeps a twentieth of each second for the competitor, which
// says itself when it ran.
func realtime(ctx context.Context, e *experiment, p *process, in *injection) error {
	tid, err := probeThread(p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0); err != nil {
		return missingRights{fmt.Errorf("give thread %d real-time priority: %w", tid, err)}
	}
	return beside(ctx, e, in, childSpec{Work: "greedy hog", CPU: p.hello.CPU})
}
