package sidecar

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/shop"
	"github.com/otelgc/otelgc/internal/gouprobe"
)

// Doors measures what it costs a Go service to be watched from outside: by probes, by
// slices of its own trace, and by what others do.
func Doors() harness.Experiment {
	return harness.Experiment{
		Name: "go-outside-cost", Title: "What it costs a Go service to be watched from outside", Answer: "What does the sidecar cost a Go service that has no line of it?",
		Measurement: new(doors),
	}
}

type doors struct {
	program
	*harness.Page
	pairs, few, stops    int
	warmup, settle, span time.Duration
	cycles               int
	sliceWait            time.Duration
	conns, live          int
	rate, share          float64
	pin                  bool
	cpus                 []int // of the service; nil: anywhere

	service   string // the service's binary
	child     *harness.Child
	address   string
	load      *shop.Load
	unaligned int // stretches that were to hold whole cycles and saw no slice begin in time
}

func (d *doors) Flags(f *flag.FlagSet) {
	f.IntVar(&d.pairs, "pairs", 20, "pairs of stretches of each door, and of slices without rests")
	f.IntVar(&d.few, "few", 12, "pairs of stretches of what others do")
	f.IntVar(&d.stops, "stops", 10, "pairs of stretches in which there is nothing but stops")
	f.DurationVar(&d.warmup, "warmup", 8*time.Second, "load before anything is measured")
	f.DurationVar(&d.settle, "settle", 500*time.Millisecond, "load before each stretch")
	f.DurationVar(&d.span, "span", 6*time.Second, "length of a stretch, but of those that hold whole cycles")
	f.IntVar(&d.cycles, "cycles", 2, "whole cycles of slices in a stretch of the second door")
	f.DurationVar(&d.sliceWait, "slice-wait", time.Minute, "longest wait for a slice to begin")
	f.IntVar(&d.conns, "conns", 16, "connections of the load generator")
	f.IntVar(&d.live, "live", 16, "long-lived heap of the service, in `MB`")
	f.Float64Var(&d.rate, "rate", 0, "requests per second; 0 is a part of what the service can answer")
	f.Float64Var(&d.share, "share", 0.6, "that part")
	f.BoolVar(&d.pin, "pin", true, "run the service on half of the CPUs, load and sidecar on the others")
}

const (
	// stopName is the command in which the service does nothing but stop the world.
	stopName = "stops"
	// nobody is the user of the service, and of a sidecar that has no rights, if root
	// measures.
	nobody = 65534
)

func (d *doors) Measure(ctx context.Context, p *harness.Page) (err error) {
	d.Page = p
	if d.pin {
		if d.cpus, err = harness.Split(); err != nil {
			return err
		}
	}
	return d.with(ctx, func() (err error) {
		if err := os.Chmod(d.dir, 0o755); err != nil { // another user runs what is in it
			return fmt.Errorf("open directory to others: %w", err)
		}
		if d.service, err = harness.Build(ctx, "github.com/otelgc/otelgc/bench", "./service/plain", filepath.Join(d.dir, "shop"+strconv.Itoa(os.Getpid()))); err != nil {
			return err
		}
		return d.withPlain(func() error { return d.measure(ctx) })
	})
}

// withPlain calls f while the service runs.
func (d *doors) withPlain(f func() error) (err error) {
	d.child = &harness.Child{Cmd: exec.Command(d.service, strconv.Itoa(d.live))}
	d.child.Stderr = os.Stderr
	asNobody(d.child.Cmd)
	if err := d.child.StartOn(d.cpus, &d.address); err != nil {
		return err
	}
	return errors.Join(f(), d.child.Stop(nil))
}

// asNobody has a process run without rights, if we have some.
func asNobody(c *exec.Cmd) {
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// door is a way to watch the service. Around calls f while that is done.
type door struct {
	name   string
	pairs  int
	goal   float64 // of the CPU that a request takes more, in percent; 0 for none
	whole  bool    // its stretches hold whole cycles
	around func(f func() error) error
	beside func(f func() error) error // around stretches without; nil for nothing
	saw    watched
}

func (d *doors) one() *door {
	v := &door{name: "door one: probes (`--target NAME`)", pairs: d.pairs, goal: 0.5, beside: d.idle}
	v.around = d.watchedBy(v, false, "--target", filepath.Base(d.service))
	return v
}

func (d *doors) two() *door {
	v := &door{name: "door two: slices, at the default budget (`--target PID --pprof URL`, without rights)", pairs: d.pairs, goal: 1.5, whole: true, beside: d.idle}
	v.around = d.watchedBy(v, true, "--target", strconv.Itoa(d.child.Process.Pid), "--pprof", d.url())
	return v
}

func (d *doors) url() string { return "http://" + d.address }

// watchedBy has the sidecar watch the service.
func (d *doors) watchedBy(v *door, unprivileged bool, args ...string) func(func() error) error {
	return func(f func() error) error {
		d.command = func(c *exec.Cmd) *exec.Cmd {
			if c = niced(c); unprivileged {
				asNobody(c)
			}
			return c
		}
		d.attachedLine = "watching a Go process"
		saw, err := d.around(1, append(args, "--mode", "periodic", "--board", "off"), func(*process) error { return f() })
		v.saw.add(saw)
		return err
	}
}

// idle runs a sidecar that watches nobody: what its probe does to its neighbours on the
// CPU is none of a door's cost.
func (d *doors) idle(f func() error) error {
	d.command, d.attachedLine = niced, "msg=probing"
	_, err := d.around(1, []string{"--mode", "periodic", "--board", "off"}, func(*process) error { return f() })
	return err
}

// niced gives a command the lowest priority, so that it does not keep the load from its CPU.
func niced(c *exec.Cmd) *exec.Cmd {
	return exec.Command("nice", append([]string{"-n", "19", c.Path}, c.Args[1:]...)...)
}

// metrics has the service read the runtime's metrics.
func (d *doors) metrics(f func() error) error {
	var u shop.Usage
	if err := d.child.Ask("metrics on", &u); err != nil {
		return err
	}
	return errors.Join(f(), d.child.Ask("metrics off", &u))
}

// traced reads the service's trace all the time, in slices of so many seconds.
func (d *doors) traced(ctx context.Context, seconds string) func(func() error) error {
	return func(f func() error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		read := make(chan error, 1)
		go func() {
			for {
				if err := d.slice(ctx, seconds); err != nil {
					read <- err
					return
				}
			}
		}()
		err := f()
		cancel()
		if failed := <-read; !errors.Is(failed, context.Canceled) {
			err = errors.Join(err, fmt.Errorf("read the trace: %w", failed))
		}
		return errors.Join(err, d.untraced())
	}
}

// slice reads a trace of so many seconds.
func (d *doors) slice(ctx context.Context, seconds string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url()+"/debug/pprof/trace?seconds="+seconds, nil)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }() // it was read as long as was wanted
	if _, err := io.Copy(io.Discard, a.Body); err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return errors.New(a.Status)
	}
	return nil
}

// untraced returns when the service's trace has ended: that goes on until the service
// notices that its reader is gone.
func (d *doors) untraced() error {
	for end := time.Now().Add(attachFor); ; time.Sleep(20 * time.Millisecond) {
		if err := d.slice(context.Background(), "0.001"); err == nil {
			return nil
		} else if time.Now().After(end) {
			return fmt.Errorf("the service's trace does not end: %w", err)
		}
	}
}

// stint is what the service did in a stretch of load.
type stint struct {
	shop.Usage
	p99 float64 // in ms, as the load generator sees it
}

func (v stint) tail() float64 { return v.p99 }

func (v stint) perRequest() float64 { return v.PerRequest() }

// stint measures a stretch: whole cycles, or a span.
func (d *doors) stint(ctx context.Context, whole bool, span time.Duration) (v stint, err error) {
	if err := harness.Wait(ctx, d.settle); err != nil {
		return v, err
	}
	var from shop.Usage
	if !whole {
		if err := d.child.Ask("now", &from); err != nil {
			return v, err
		}
		d.load.Took()
		if err := harness.Wait(ctx, span); err != nil {
			return v, err
		}
		err = d.child.Ask("now", &v.Usage)
	} else {
		slice := "slice " + d.sliceWait.String()
		if err := d.child.Ask(slice, &from); err != nil {
			return v, err
		}
		d.load.Took()
		for range d.cycles {
			if err := d.child.Ask(slice, &v.Usage); err != nil {
				return v, err
			}
			if !v.AtSlice || !from.AtSlice {
				d.unaligned++
				break
			}
		}
	}
	v.Usage = v.Plus(from, -1)
	v.p99 = harness.Quantile(d.load.Took(), 0.99)
	return v, err
}

// doorResult is what came of one door.
type doorResult struct {
	harness.Pairs[stint]
	cpu, late harness.Interval // more, in percent
}

func (r *doorResult) traced() float64 {
	return r.With(func(v stint) float64 { return v.TracedPart() })
}

func (d *doors) measure(ctx context.Context) error {
	if err := d.startLoad(ctx); err != nil {
		return err
	}
	table := harness.NewTable("what watches | pairs | CPU per request more, median | 95 % interval | p99 without | p99 more, median | 95 % interval | time traced")
	raw := harness.NewTable("what watches | CPU per request more, %, pair by pair | p99 more, %, pair by pair")
	var goals []string
	one, two := d.one(), d.two()
	noRests := &door{name: "slices of 0.75 s without rests", pairs: d.pairs, around: d.traced(ctx, "0.75")}
	results := make(map[*door]*doorResult)
	var all harness.Pairs[stint]
	if err := gouprobe.Supported(); err != nil {
		d.Logf("door one is left out: %v", err)
		one.pairs, d.stops = 0, 0
	}
	for _, v := range []*door{
		one, two, noRests,
		{name: "`contrib/instrumentation/runtime`, read every second", pairs: d.few, around: d.metrics},
		{name: "its trace, always on, read by a client", pairs: d.few, around: d.traced(ctx, "3600")},
	} {
		if v.pairs == 0 {
			continue
		}
		pairs, err := d.cost(ctx, v)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", v.name, err), d.load.Stop())
		}
		more, tail := pairs.More(stint.perRequest), pairs.More(stint.tail)
		r := &doorResult{pairs, harness.Of(more), harness.Of(tail)}
		results[v], all = r, append(all, pairs...)
		table.Row("%s | %d | %.2f %% | %v | %.2f ms | %.1f %% | %s | %.1f %%", v.name, len(pairs), r.cpu.Median, r.cpu,
			pairs.Without(stint.tail), r.late.Median, r.late.Text(1), 100*r.traced())
		raw.Row("%s | %s | %s", v.name, harness.Raw(more), harness.Raw(tail))
		if v.goal > 0 {
			goals = append(goals, v.judge(r.cpu))
		}
	}
	if err := d.load.Stop(); err != nil {
		return err
	}
	perRequest, rate := all.Without(stint.perRequest), all.Without(func(v stint) float64 { return v.Rate() })
	collections := all.Without(func(v stint) float64 { return v.CycleRate() })
	d.Para("A service of net/http and encoding/json that decodes, prices and answers an order of eight lines. It links nothing of otelgc: each request is a span of the "+
		"OpenTelemetry SDK (otelhttp), and it serves net/http/pprof. %d MB long-lived heap, %.1f collections a second; %.0f requests/s, evenly, over %d connections; "+
		"%.1f us of CPU per request%s.", d.live, collections, rate, d.conns, perRequest, d.placement())
	d.Table(table)
	d.Para("In one process, after %v of load, stretches with and without follow each other in the order ABBA, each behind %v that is not measured. "+
		"One of door two goes from the begin of a slice to the begin of another, %d whole cycles later, and that without is as long as the last of those; the others take %v. "+
		"CPU is getrusage of the service over the requests that it answered; p99 is from the moment a request is sent to its answer, at the load generator. "+
		"The sidecar has the lowest priority among the load's CPUs, and exports to a receiver that takes all. Without a door it runs and watches nobody, "+
		"since what shares a core with the service slows it, too; beside the others it does not run. "+
		"Intervals are those of the median by order statistics, no distribution assumed.", d.warmup, d.settle, d.cycles, d.span)
	if d.unaligned > 0 {
		d.Para("%d stretches saw no slice begin within %v, and hold no whole cycles.", d.unaligned, d.sliceWait)
	}
	d.Para("The sidecar saw by door one %d collections, and by door two %d collections and %d requests in %d slices. "+
		"Not tried: OpenTelemetry eBPF Instrumentation (OBI), whose probes in Go programs are on other functions, at each request.",
		one.saw.Collections.Total, two.saw.Collections.Total, two.saw.Pulled.Requests, two.saw.Pulled.Slices)
	if cost, ok := d.perSlice(results[two], results[noRests]); ok {
		goals = append(goals, "by slices without rests, "+two.judge(cost))
	}
	if cost, ok, err := d.perStop(rate*perRequest/1e6, collections); err != nil {
		return err
	} else if ok {
		goals = append(goals, "by nothing but stops, "+one.judge(cost))
	}
	if len(goals) > 0 {
		d.Para("Goals. %s.", strings.Join(goals, "; "))
	}
	d.Table(raw)
	return nil
}

// judge says whether the goal of a door is met by what it costs.
func (v *door) judge(cost harness.Interval) string {
	name, _, _ := strings.Cut(v.name, ":")
	if math.IsInf(cost.Low, 0) || math.IsInf(cost.High, 0) {
		return fmt.Sprintf("%s: below %.1f %%, not judged: too few pairs", name, v.goal)
	}
	return fmt.Sprintf("%s: below %.1f %% at the median, %s; at the upper end of the interval, %s",
		name, v.goal, harness.Met(cost.Median < v.goal), harness.Met(cost.High < v.goal))
}

// perSlice says what door two costs by what slices cost that follow on one another: where
// pairs differ by more than the budget, that is the figure that can be told from none.
func (d *doors) perSlice(two, noRests *doorResult) (cost harness.Interval, ok bool) {
	if two == nil || noRests == nil || !(noRests.traced() > 0) {
		return cost, false
	}
	cost = noRests.cpu.Times(two.traced() / noRests.traced())
	d.Para("**A slice.** Without rests slices take %.0f %% of the time, begins and ends included, and door two's %.1f %%. At that part of the cost door two takes %.2f %% of CPU per request "+
		"more (95 %% %v).", 100*noRests.traced(), 100*two.traced(), cost.Median, cost)
	return cost, true
}

// startLoad finds the rate of requests and begins to send them.
func (d *doors) startLoad(ctx context.Context) (err error) {
	if d.rate == 0 {
		if d.load, err = shop.StartLoad(d.address, d.conns, 0); err != nil {
			return err
		}
		full, err := d.stint(ctx, false, d.warmup/2)
		if err := errors.Join(err, d.load.Stop()); err != nil {
			return err
		}
		d.rate = math.Ceil(d.share*full.Rate()/100) * 100
		d.Logf("saturation %.0f requests/s, rate %.0f", full.Rate(), d.rate)
	}
	if d.load, err = shop.StartLoad(d.address, d.conns, d.rate); err != nil {
		return err
	}
	return harness.Wait(ctx, d.warmup)
}

// cost measures the pairs of a door.
func (d *doors) cost(ctx context.Context, v *door) (harness.Pairs[stint], error) {
	span := d.span // of a stretch without
	return harness.Alternate(v.pairs, func(with bool) (s stint, err error) {
		without := func() (err error) {
			s, err = d.stint(ctx, false, span)
			return err
		}
		if !with && v.beside != nil {
			err = v.beside(without)
		} else if !with {
			err = without()
		} else {
			err = v.around(func() (err error) {
				s, err = d.stint(ctx, v.whole, d.span)
				return err
			})
			if v.whole && err == nil {
				span = s.Wall
			}
		}
		d.Logf("%s: %v: %.1f s, %.1f us each, p99 %.2f ms, %.0f%% traced, %d cycles", v.name, with, s.Wall.Seconds(), s.PerRequest(), s.p99, 100*s.TracedPart(), s.Cycles)
		return s, err
	})
}

// perStop says what door one costs where there is nothing but stops, and what that is of
// a service that uses so many CPUs and has so many collections a second.
func (d *doors) perStop(cpus, collections float64) (cost harness.Interval, ok bool, err error) {
	if d.stops == 0 {
		return cost, false, nil
	}
	one := d.one()
	pairs, err := harness.Alternate(d.stops, func(with bool) (u shop.Usage, err error) {
		ask := func() error { return d.child.Ask(stopName, &u) }
		if with {
			err = one.around(ask)
		} else {
			err = ask()
		}
		d.Logf("nothing but stops: %v: %d, %.2f us each", with, u.Served, u.PerRequest())
		return u, err
	})
	if err != nil {
		return cost, false, fmt.Errorf("nothing but stops: %w", err)
	}
	more := harness.Each(pairs, func(p harness.Pair[shop.Usage]) float64 { return p.With.PerRequest() - p.Without.PerRequest() })
	v, stops := harness.Of(more), 2*collections
	cost = v.Times(stops / cpus / 1e4) // from us to percent
	d.Para("**A stop.** Where the service does nothing but to stop the world (`runtime.ReadMemStats`), %.0f times a second, door one has a stop take %.1f us of CPU more "+
		"(median of %d pairs, 95 %% %s; pair by pair %s). With the %.1f stops a second of its collections that is %.4f %% of CPU per request more (95 %% %s).",
		pairs.With(shop.Usage.Rate), v.Median, len(pairs), v.Text(1), harness.Raw(more), stops, cost.Median, cost.Text(4))
	return cost, !math.IsNaN(cost.Median), nil
}

func (d *doors) placement() string {
	if d.cpus == nil {
		return ""
	}
	return fmt.Sprintf("; it is pinned to CPU %v, and load and sidecar have the others", d.cpus)
}
