package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/accuracy/pin"
	"github.com/otelgc/otelgc/internal/dotnetipc/azmcp"
)

// serviceName is what the processes of this program that are watched are called:
// at most 15 bytes.
func serviceName() string { return "shop" + strconv.Itoa(os.Getpid()) }

// service is a .NET process under load: one request at a time, each as soon as
// the one before was answered.
type service struct {
	*azmcp.Process
	own []string // threads that write sessions which it has with itself
}

// start starts a process that has been under load for the warm-up.
func (b *bench) start(ctx context.Context, env ...string) (*service, error) {
	return b.startWarm(ctx, b.warmup, env...)
}

func (b *bench) startWarm(ctx context.Context, warmup time.Duration, env ...string) (*service, error) {
	p, err := azmcp.Start(azmcp.Options{
		Name: serviceName(), Env: env, Around: func(start func() error) error { return pin.Around(b.service, start) },
	})
	if err != nil {
		return nil, err
	}
	s := &service{Process: p}
	if err := p.Initialize(); err != nil {
		p.Kill()
		return nil, err
	}
	if _, err = s.load(ctx, warmup); err == nil {
		s.own, err = streamingThreads(p.PID())
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return s, nil
}

// stretch is what a service did in a stretch of load.
type stretch struct {
	wall, cpu time.Duration
	answers   []float64 // how long each took, in ms
}

// perRequest returns the CPU time of a request.
func (l *stretch) perRequest() time.Duration {
	return l.cpu / time.Duration(max(1, len(l.answers)))
}

// load sends requests for a while.
func (s *service) load(ctx context.Context, span time.Duration) (l stretch, err error) {
	begin := time.Now()
	before, err := cpuOf(s.PID())
	if err != nil {
		return l, err
	}
	for time.Since(begin) < span || len(l.answers) == 0 {
		if err := ctx.Err(); err != nil {
			return l, err
		}
		r, err := s.List(0)
		if err != nil {
			return l, err
		}
		l.answers = append(l.answers, r.Received.Sub(r.Sent).Seconds()*1e3)
	}
	after, err := cpuOf(s.PID())
	l.wall, l.cpu = time.Since(begin), after-before
	return l, err
}

// cpuOf returns the CPU time that a process and its threads have used, those
// that ended included, in ns: its CPU clock, clock_getcpuclockid(3).
func cpuOf(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED, <linux/posix-timers.h>
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &t); err != nil {
		return 0, fmt.Errorf("read CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}
