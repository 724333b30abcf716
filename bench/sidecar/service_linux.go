package sidecar

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/internal/dotnetipc/azmcp"
)

// serviceName is the name of the .NET processes that are watched: at most 15 bytes.
func serviceName() string { return "shop" + strconv.Itoa(os.Getpid()) }

// dotnetService is a .NET process under load: one request at a time, each as soon
// as the one before was answered.
type dotnetService struct {
	*azmcp.Process
	own map[int]bool // threads that write sessions which it has with itself
}

// smallGen0 makes collections many.
const smallGen0 = "DOTNET_GCgen0size=40000"

// start starts a process that has been under load for the warm-up.
func (b *dotnet) start(ctx context.Context, warmup time.Duration, env ...string) (*dotnetService, error) {
	p, err := azmcp.Start(azmcp.Options{
		Name: serviceName(), Env: env, Around: func(start func() error) error { return harness.PinAround(b.cpus, start) },
	})
	if err != nil {
		return nil, err
	}
	s := &dotnetService{Process: p}
	if err = p.Initialize(); err == nil {
		_, err = s.load(ctx, warmup)
	}
	if err == nil {
		s.own, _, err = s.streaming()
	}
	if err != nil {
		p.Kill()
	}
	return s, err
}

// withService calls f while there is a service.
func (b *dotnet) withService(ctx context.Context, env []string, f func(*dotnetService) error) error {
	s, err := b.start(ctx, b.warmup, env...)
	if err != nil {
		return err
	}
	defer s.Kill()
	if err := f(s); err != nil {
		return err
	}
	return s.Stop()
}

// stretch is what a service did in a stretch of load.
type stretch struct {
	wall, cpu time.Duration
	answers   []float64 // how long each took, in ms
}

// perRequest returns the CPU time of a request, in ms.
func (l stretch) perRequest() float64 { return l.cpu.Seconds() * 1e3 / float64(max(1, len(l.answers))) }

// rate returns the requests per second.
func (l stretch) rate() float64 { return float64(len(l.answers)) / l.wall.Seconds() }

// more returns how much more CPU a request took in l than in o, in percent.
func (l stretch) more(o stretch) float64 { return 100 * (l.perRequest()/o.perRequest() - 1) }

// load sends requests for a while.
func (s *dotnetService) load(ctx context.Context, span time.Duration) (l stretch, err error) {
	begin := time.Now()
	before, err := harness.CPU(s.PID())
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
	after, err := harness.CPU(s.PID())
	l.wall, l.cpu = time.Since(begin), after-before
	return l, err
}

// streamingThread is the name of the runtime's thread that writes one session
// (runtime, src/native/eventpipe/ep-session.c).
const streamingThread = ".NET EventPipe"

// streaming returns the threads that write sessions of others, and their CPU time.
func (s *dotnetService) streaming() (tids map[int]bool, cpu time.Duration, err error) {
	tids = make(map[int]bool)
	all, err := harness.Threads(s.PID())
	for _, t := range all {
		if t.Name == streamingThread && !s.own[t.TID] {
			tids[t.TID] = true
			cpu += t.CPU
		}
	}
	return tids, cpu, err
}
