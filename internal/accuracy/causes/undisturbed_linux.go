package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/accuracy/perfring"
	"github.com/otelgc/otelgc/stall"
)

// switchPages is room for what is sampled of a thread that is preempted 10,000 times
// a second, in half a minute.
const switchPages = 1024

// undisturbed injects, and has the kernel say when the probe's thread was switched
// out meanwhile: a short gap in which it was has two causes, and which is the
// longer nobody else knows.
func undisturbed(inject injector) injector {
	return func(ctx context.Context, e *experiment, p *process, in *injection) (err error) {
		tid, err := probeThread(p.cmd.Process.Pid)
		if err != nil {
			return missingRights{err}
		}
		ring, err := perfring.Open(&unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES,
			Sample: 1, Sample_type: unix.PERF_SAMPLE_TIME,
		}, tid, -1, switchPages)
		if err != nil {
			return missingRights{err}
		}
		defer func() { err = errors.Join(err, ring.Close()) }()
		if err := inject(ctx, e, p, in); err != nil {
			return err
		}
		lost := ring.Read(func(body []byte) {
			if len(body) >= 8 {
				in.switched = append(in.switched, stall.Instant(binary.LittleEndian.Uint64(body)))
			}
		})
		if lost > 0 {
			return fmt.Errorf("watch switches of the probe: %d of them lost", lost)
		}
		return nil
	}
}
