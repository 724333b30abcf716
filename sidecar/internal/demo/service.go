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
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/otelgc"
)

// serve is the service: it answers requests until standard input ends, and
// reports to the parent on standard output what came of each.
func serve(o childOptions) error {
	// A terminal sends its interrupt to the whole group; it is the parent that
	// ends this process. Where the parent is gone, writes to it shall fail.
	signal.Ignore(os.Interrupt, syscall.SIGPIPE)
	defer o.tidy()
	ctx, cancel := context.WithTimeout(context.Background(), o.Limit)
	defer cancel()
	c := &child{childOptions: o, out: newMessages(os.Stdout)}
	otel.SetErrorHandler(&c.complaints)
	err := c.run(ctx)
	if err == nil {
		return nil
	}
	text := err.Error()
	c.out.send(message{Failure: text[:min(len(text), maxFailure)]})
	if c.out.flush() != nil {
		return err // it is for standard error then
	}
	return errReported
}

// child is the service's process.
type child struct {
	childOptions
	out     *messages
	monitor *otelgc.Monitor
	shop    *shop
	sent    uint64 // index of the last collection that was reported
	stops   uint64 // and of the last suspension
	last    farewell

	gallery    gallery
	complaints complaints
}

func (c *child) run(ctx context.Context) error {
	before, err := c.watch()
	if err != nil {
		return err
	}
	start := c.monitor.Session()
	c.shop = newShop(c.LiveHeap, c.Seed)
	prepare(c.Inject, c.shop)
	probing := jitterprobe.Options{Mode: jitterprobe.Periodic, Threshold: reportedGap}
	if runtime.NumCPU() >= probeMinCPUs {
		probing.Mode = jitterprobe.Runtime
	}
	probe, err := jitterprobe.Start(probing)
	if err != nil {
		return fmt.Errorf("start probe: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	server := &http.Server{Handler: c.monitor.Middleware(c.shop), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	c.out.send(message{Hello: &hello{
		Address: listener.Addr().String(), GoVersion: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		ProbeMode: probe.Mode().String(), ProbeNote: probe.Note(),
	}})
	if err := c.out.flush(); err != nil {
		return err
	}
	var gaps sync.WaitGroup
	gaps.Go(func() {
		for g := range probe.All() {
			v := g.Interval
			c.out.send(message{Gap: &v})
		}
	})
	c.last.Forced = c.untilDone(ctx)
	stopServer(server)
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	probe.Stop()
	gaps.Wait()
	if c.orphaned() {
		return errors.New("the parent is gone") // no reader waits for open windows
	}
	c.settle(ctx, before, start)
	runtime.KeepAlive(c.shop) // the live heap lives until the last figure is read
	// Open windows are still reported: the farewell comes after them.
	end, cancel := context.WithTimeout(ctx, shutdownLimit)
	defer cancel()
	if err := c.monitor.Shutdown(end); err != nil {
		c.last.Notes = append(c.last.Notes, "the monitor did not end in good order: "+err.Error())
	}
	c.last.Notes = append(c.last.Notes, c.complaints.list()...)
	for _, d := range c.gallery.all() {
		c.out.send(message{Drawn: &d})
	}
	c.out.send(message{Farewell: &c.last})
	return c.out.flush()
}

// watch starts the monitor, and returns how many cycles there had been. No cycle
// ends while it starts, or it would be in one of the two counts only.
func (c *child) watch() (before uint64, err error) {
	percent := debug.SetGCPercent(-1) // waits for the cycle that is under way
	defer debug.SetGCPercent(percent)
	before = readCounter(cyclesMetric)
	options := []otelgc.Option{
		otelgc.WithArrivalHeader(arrivalHeader, otelgc.ArrivalMonotonic),
		otelgc.WithBoard(c.Board),
		otelgc.WithOnSlowRequest(0, func(r *otelgc.SlowRequest) {
			c.out.window(r.Window, r.Share)
			c.gallery.keep(r)
		}),
	}
	if os.Getenv(budgetEnv) == "" {
		options = append(options, otelgc.WithExactBudget(demoBudget))
	}
	if c.monitor, err = otelgc.Start(options...); err != nil {
		return 0, fmt.Errorf("start monitor: %w", err)
	}
	return before, nil
}

// demoBudget has all requests of a short demo traced, unless OTELGC_EXACT_BUDGET says
// otherwise: by the default a tenth of them would be.
const demoBudget = 1

// probeMinCPUs is from how many CPUs on a probe that costs one is worth it.
const probeMinCPUs = 4

// flushEvery is the time between two looks for new collections.
const flushEvery = 100 * time.Millisecond

// untilDone injects, and reports what is known, until the parent closes standard
// input or ctx ends. It returns how often it injected.
func (c *child) untilDone(ctx context.Context) (injected uint64) {
	ctx, cancel := untilStdinEnds(ctx)
	defer cancel()
	ended := make(chan uint64, 1)
	go func() { ended <- inject(ctx, c.Inject, c.shop) }()
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case n := <-ended:
			return n
		case <-ticker.C:
			c.report()
			if c.out.flush() != nil {
				cancel() // the parent is gone
			}
		}
	}
}

// untilStdinEnds returns a context that is also done when standard input ends.
func untilStdinEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}

func stopServer(s *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		_ = s.Close() // connections that are still busy are cut
	}
}

// report sends the collections and the other stops of the runtime that are new.
func (c *child) report() {
	list, dropped := c.monitor.Collections(c.sent)
	c.last.Lost += dropped
	for i := range list {
		c.out.send(message{Collection: collectionOf(&list[i])})
		c.last.GC.Slowed.Add(&list[i])
		for _, p := range list[i].Pauses {
			c.last.GC.LongestPause = max(c.last.GC.LongestPause, p.Duration())
		}
		c.sent = max(c.sent, list[i].Index)
	}
	stops, dropped := c.monitor.Suspensions(c.stops)
	c.last.Lost += dropped
	for i := range stops {
		c.out.send(message{Suspension: &stops[i].Interval})
		c.stops = stops[i].Index
	}
}

// Limits of the end of the service; see endLimit.
const (
	settleLimit   = 6 * time.Second
	settleEvery   = 20 * time.Millisecond
	shutdownLimit = 2 * time.Second
)

const cyclesMetric = "/gc/cycles/total:gc-cycles"

// readCounter returns a counter of package runtime/metrics.
func readCounter(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// settle waits until every window is resolved and the collector is at rest, and
// reads the counts. A collection becomes known up to three seconds after its end,
// so the runtime is asked first, and then the monitor for all that has ended by
// then.
func (c *child) settle(ctx context.Context, before uint64, start otelgc.Session) {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	f := &c.last.GC
	err := c.monitor.Flush(ctx)
	if err != nil {
		c.last.Notes = append(c.last.Notes, "not every request was resolved in time: "+err.Error())
	} else {
		// Decoding a trace that is not needed would keep the collector from coming to rest.
		_, err = c.monitor.PauseExact(ctx)
	}
	for ; ; time.Sleep(settleEvery) {
		f.RuntimeCycles = readCounter(cyclesMetric) - before
		if err == nil {
			err = c.monitor.Flush(ctx)
		}
		session := c.monitor.Session().Sub(start)
		f.Cycles = 0
		for _, n := range session.Cycles {
			f.Cycles += n
		}
		f.Pause = session.PauseTotal
		if f.Cycles == f.RuntimeCycles || err != nil {
			break
		}
	}
	c.report()
}

// dirPrefix is how the name of the demo's directory begins.
const dirPrefix = "otelgc-demo-"

// orphaned reports whether the parent is gone: Unix gives its children to another
// process then. On other systems it always reports false.
func (o *childOptions) orphaned() bool { return os.Getppid() != o.Parent }

// tidy removes what a parent that was killed left behind. The name of the directory
// comes from the environment: only a demo's directory is removed.
func (o *childOptions) tidy() {
	if o.orphaned() && strings.HasPrefix(filepath.Base(o.Dir), dirPrefix) {
		_ = os.RemoveAll(o.Dir) // no parent is left to report to
	}
}

// maxComplaints bounds what is kept of them.
const maxComplaints = 8

// complaints collects OpenTelemetry's errors for the report, each once: a log line
// in the middle of the report would be overlooked.
type complaints struct {
	mu    sync.Mutex
	texts []string
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	text := strings.TrimPrefix(err.Error(), "otelgc: ")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.texts) < maxComplaints && !slices.Contains(c.texts, text) {
		c.texts = append(c.texts, text)
	}
}

func (c *complaints) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.texts)
}
