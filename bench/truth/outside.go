package truth

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"slices"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/drop"
	"github.com/otelgc/otelgc/bench/sidecar/pull"
	"github.com/otelgc/otelgc/stall"
)

// Outside does what Experiment does with a program in which nothing of ours watches: it
// has spans of the OpenTelemetry SDK and net/http/pprof, and slices of its trace are taken.
func Outside() harness.Experiment {
	return harness.Experiment{
		Name: "go-outside-truth", Title: "Truth by injection, from outside", Answer: "And that of a program that is watched from outside?", Measurement: new(outside),
	}
}

// outside is what the flags say, and what went wrong.
type outside struct {
	experiment
	slices, failed int
	moved          int // requests that ended on another goroutine
	lost           uint64
}

func (e *outside) Flags(f *flag.FlagSet) {
	f.IntVar(&e.affected, "affected", 400, "affected requests of each class that slices have from begin to end")
	f.DurationVar(&e.limit, "limit", 5*time.Minute, "longest time to spend on a class")
	f.StringVar(&e.only, "only", "", "`names` of the classes to run, such as compute,pause; all of them without")
}

// outsideGoal is the part of the affected requests that is to be named right.
const outsideGoal = 0.95

func (e *outside) Measure(ctx context.Context, s *harness.Page) error {
	e.page = s
	var tallies []*tally
	met := true
	for _, c := range classes() {
		if c.http || !e.wants(c) {
			continue // when a request arrived is not in the trace
		}
		begin := time.Now()
		t, err := e.class(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		s.Logf("%s, %v", t, time.Since(begin).Round(time.Second))
		tallies = append(tallies, t)
		met = met && t.metOutside()
	}
	write(s, "A program injects known causes into requests of its own and logs when. Each request is a span of the OpenTelemetry SDK, and net/http/pprof is served: "+
		"nothing of ours watches in its process. Slices of its execution trace are taken from outside, as the sidecar takes them, but one after the other.", e.affected, tallies)
	e.write(tallies)
	if !met {
		return fmt.Errorf("right in %.0f %% of each class, and nothing blamed on a collector that is off: %w", 100*outsideGoal, harness.ErrUnmet)
	}
	return nil
}

// metOutside reports whether enough is right, and nothing blamed on a collector that is off.
func (t *tally) metOutside() bool {
	return t.affected > 0 && t.interval().Fraction >= outsideGoal && (!t.class.off() || t.blamed == 0)
}

// write writes what only this page has.
func (e *outside) write(tallies []*tally) {
	requests, windows, unwatched := 0, 0, 0
	for _, t := range tallies {
		requests, windows, unwatched = requests+t.requests, windows+t.windows, unwatched+t.unwatched
	}
	e.page.Para("Of %d requests the %d slices have %d from begin to end. %d affected ones they do not have so: those are in no column but the first. "+
		"%d requests ended on another goroutine. %d slices failed, and of %d goroutines or records there was too much to keep.",
		requests, e.slices, windows, unwatched, e.moved, e.failed, e.lost)
	e.page.Para("The class of arrivals is not there: a span begins with the handler. The goal is %.0f %% right in each class, and no request blamed on a collector that is off.", 100*outsideGoal)
}

// outsideRound has a slice in it, and the second before that.
const outsideRound = 2 * time.Second

// class runs one class, in a process of its own, until enough requests are affected that
// slices have from begin to end.
func (e *outside) class(ctx context.Context, c *class) (t *tally, err error) {
	child, err := harness.NewChild(childName, c.name)
	if err != nil {
		return nil, err
	}
	var p program
	if err := child.StartOn(nil, &p); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, child.Stop(nil)) }()
	t = newTally(c, p.P99)
	for until := time.Now().Add(e.limit); ctx.Err() == nil; {
		b := &bench{class: c, usual: p.Usual}
		if err := e.round(ctx, child, p.URL, b); err != nil {
			return nil, err
		}
		t.classify(b)
		if t.affected >= e.affected && t.alone >= e.alone || time.Now().After(until) {
			break
		}
	}
	return t, ctx.Err()
}

// round has the program do a round while a slice is taken, and puts into b what both say.
func (e *outside) round(ctx context.Context, child *harness.Child, url string, b *bench) error {
	var slice pull.Slice
	taken := make(chan error, 1)
	go func() {
		var err error
		slice, err = pull.Take(ctx, child.Process.Pid, url, clock)
		taken <- err
	}()
	err := child.Ask("round", &b.record)
	if failed := <-taken; failed != nil {
		e.page.Logf("%s: %v", b.class.name, failed)
		e.failed++
	} else {
		e.slices++
	}
	for i := range slice.Requests {
		q := &slice.Requests[i]
		if q.Moved {
			e.moved++
		}
		b.windows = append(b.windows, window{stall.Window{Start: q.Start, End: q.End}, q.Share})
	}
	b.watched = append([]stall.Span{}, slice.Seen...)
	e.lost += slice.Lost
	return err
}

const childName = "truth"

// Child runs the program that is watched from outside, if this process was started as one.
func Child() { harness.RunChild(childName, serve) }

// program is what the program says first: where its pprof is, and how its requests are
// without injection.
type program struct {
	URL        string
	P99, Usual time.Duration
}

// serve is the program of a class. With each line of its input it does a round, and says
// what it logged; it ends when its input does.
func serve(name string) error {
	all := classes()
	i := slices.IndexFunc(all, func(c *class) bool { return c.name == name })
	if i < 0 {
		return fmt.Errorf("no class %q", name)
	}
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(drop.Spans{}))
	tracer := spans.Tracer("truth")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // it ends with Close
	b := &bench{class: all[i], begin: func(ctx context.Context) func() {
		_, span := tracer.Start(ctx, "GET /"+name)
		return func() { span.End() }
	}}
	err = b.prepared(func() error {
		b.calibrate()
		runtime.GC()
		out := json.NewEncoder(os.Stdout)
		p99 := b.baseline(context.Background())
		if err := out.Encode(program{"http://" + l.Addr().String(), p99, b.usual}); err != nil {
			return err
		}
		for s := bufio.NewScanner(os.Stdin); s.Scan(); {
			b.record = record{}
			b.round(outsideRound, b.class.around)
			if err := out.Encode(&b.record); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, server.Close(), spans.Shutdown(context.Background()))
}
