package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/sidecar/internal/demo/wire"
	"github.com/otelgc/otelgc/sidecar/internal/slowed"
	"github.com/otelgc/otelgc/stall"
)

// pipeFD is the descriptor of the pipe to the parent: the first of
// exec.Cmd.ExtraFiles.
const pipeFD = 3

// serve is the service: it answers requests until standard input ends, and
// tells the parent over the pipe what came of each.
func serve(o childOptions) error {
	// A terminal sends its interrupt to the whole group; it is the parent who
	// ends this process.
	signal.Ignore(os.Interrupt)
	defer o.tidy()
	ctx, cancel := context.WithTimeout(context.Background(), o.Limit)
	defer cancel()
	pipe := os.NewFile(pipeFD, "pipe")
	if pipe == nil {
		return errors.New("open pipe to parent: descriptor 3 is closed: this is no process to start by hand")
	}
	defer func() { _ = pipe.Close() }()
	c := &child{options: o, out: wire.NewWriter(pipe)}
	otel.SetErrorHandler(&c.complaints)
	makeRoomToMark(o.Inject)
	if err := c.run(ctx); err != nil {
		if errors.Join(c.out.Failure(err), c.out.Flush()) != nil {
			return err // it is for standard error then
		}
		return errTold
	}
	return nil
}

type child struct {
	options   childOptions
	out       *wire.Writer
	monitor   *otelgc.Monitor
	told      uint64 // index of the last collection that was handed on
	toldStops uint64 // and of the last suspension
	slowed    slowed.Tally
	lost      uint64

	complaints complaints
}

func (c *child) run(ctx context.Context) error {
	before, err := c.watch()
	if err != nil {
		return err
	}
	m := c.monitor
	start := m.Session()
	handler := &service{heap: newLiveHeap(c.options.LiveHeap, c.options.Seed), seed: c.options.Seed}
	probe, err := jitterprobe.Start(c.probeOptions())
	if err != nil {
		return fmt.Errorf("start probe: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	server := &http.Server{Handler: m.Middleware(handler), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if err := c.hello(listener.Addr().String(), probe); err != nil {
		return err
	}
	gaps := make(chan struct{})
	go func() {
		defer close(gaps)
		for g := range probe.All() {
			v := g.Interval()
			_ = c.out.Gap(&v) // an error stays, and the flush returns it
		}
	}()
	forced := c.untilDone(ctx)
	c.stopServer(server)
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	probe.Stop()
	<-gaps
	if c.options.orphaned() {
		return errOrphaned // what is open nobody waits for
	}
	farewell := c.settle(ctx, before, start)
	farewell.Forced = forced
	runtime.KeepAlive(handler) // the live heap lives until the last figure is read
	// What is open still gets its account: the farewell comes after it.
	if err := c.shutdown(ctx); err != nil {
		farewell.Notes = append(farewell.Notes, "the monitor did not end in good order: "+err.Error())
	}
	farewell.Notes = append(farewell.Notes, c.complaints.list()...)
	return errors.Join(c.out.Farewell(&farewell), c.out.Flush())
}

// watch starts the monitor, and returns how many cycles there had been: none ends
// while it starts, or it would be in one of the two counts only.
func (c *child) watch() (before uint64, err error) {
	percent := debug.SetGCPercent(-1) // waits for the cycle that is under way
	defer debug.SetGCPercent(percent)
	before = gcCycles()
	if c.monitor, err = otelgc.Start(c.monitorOptions()...); err != nil {
		return 0, fmt.Errorf("start monitor: %w", err)
	}
	return before, nil
}

// demoBudget has nearly all requests of a short demo traced, unless OTELGC_EXACT_BUDGET
// says otherwise: by the default a tenth of them would be.
const demoBudget = 0.1

func (c *child) monitorOptions() []otelgc.Option {
	options := []otelgc.Option{
		otelgc.WithArrivalHeader(arrivalHeader, otelgc.ArrivalMonotonic),
		otelgc.WithBoard(c.options.Board),
		otelgc.WithOnWindow(func(w *stall.Window, s *stall.Share) {
			_ = c.out.Window(w, s) // an error stays, and the flush returns it
		}),
	}
	if os.Getenv(budgetEnv) == "" {
		options = append(options, otelgc.WithExactBudget(demoBudget))
	}
	return options
}

// probeMinCPUs is from how many CPUs on a probe that costs one is worth it.
const probeMinCPUs = 4

func (c *child) probeOptions() jitterprobe.Options {
	o := jitterprobe.Options{Mode: jitterprobe.Periodic, Threshold: reportedGap}
	if runtime.NumCPU() >= probeMinCPUs {
		o.Mode = jitterprobe.Runtime
	}
	return o
}

func (c *child) hello(address string, p *jitterprobe.Probe) error {
	h := wire.Hello{
		Address: address, GoVersion: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		ProbeMode: p.Mode().String(), ProbeNote: p.Note(), LiveHeap: c.options.LiveHeap,
	}
	return errors.Join(c.out.Hello(&h), c.out.Flush())
}

// flushEvery is the time between two looks for new collections.
const flushEvery = 100 * time.Millisecond

// untilDone injects, and hands on what is known, until the parent closes
// standard input or ctx ends. It returns how often it injected.
func (c *child) untilDone(ctx context.Context) (injected uint64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	ended := make(chan uint64, 1)
	go func() { ended <- inject(ctx, c.options.Inject) }()
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case n := <-ended:
			return n
		case <-ticker.C:
			c.tell()
			if c.out.Flush() != nil {
				cancel() // the parent is gone
			}
		}
	}
}

// shutdownLimit is what is left of the time to end, see endLimit.
const shutdownLimit = 2 * time.Second

func (c *child) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownLimit)
	defer cancel()
	return c.monitor.Shutdown(ctx)
}

func (c *child) stopServer(s *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		_ = s.Close() // connections that are still busy are cut
	}
}
