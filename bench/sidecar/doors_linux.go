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
	f.IntVar(&d.pairs, "pairs", 20, "pairs of stretches of each door")
	f.IntVar(&d.few, "few", 20, "pairs of stretches of what others do")
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
	d.Page, d.attachedLine = p, "watching a Go process"
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
	saw    watched
}

func (d *doors) doors(ctx context.Context) []*door {
	one := &door{name: "door one: probes (`--target NAME`)", pairs: d.pairs, goal: 0.5}
	one.around = d.watchedBy(one, false, "--target", filepath.Base(d.service))
	two := &door{name: "door two: slices, at the default budget (`--target PID --pprof URL`, without rights)", pairs: d.pairs, goal: 1.5, whole: true}
	two.around = d.watchedBy(two, true, "--target", strconv.Itoa(d.child.Process.Pid), "--pprof", d.url())
	return []*door{
		one, two,
		{name: "`contrib/instrumentation/runtime`, read every second", pairs: d.few, around: d.metrics},
		{name: "its trace, always on, read by a client", pairs: d.few, around: func(f func() error) error { return d.traced(ctx, f) }},
	}
}

func (d *doors) url() string { return "http://" + d.address }

// watchedBy has the sidecar watch the service.
func (d *doors) watchedBy(v *door, unprivileged bool, args ...string) func(func() error) error {
	return func(f func() error) error {
		// With the lowest priority it does not keep the load from its CPU.
		d.command = func(c *exec.Cmd) *exec.Cmd {
			nice := exec.Command("nice", append([]string{"-n", "19", c.Path}, c.Args[1:]...)...)
			if unprivileged {
				asNobody(nice)
			}
			return nice
		}
		saw, err := d.around(1, append(args, "--mode", "periodic", "--board", "off"), func(*process) error { return f() })
		v.saw.add(saw)
		return err
	}
}

// metrics has the service read the runtime's metrics.
func (d *doors) metrics(f func() error) error {
	var u shop.Usage
	if err := d.child.Ask("metrics on", &u); err != nil {
		return err
	}
	return errors.Join(f(), d.child.Ask("metrics off", &u))
}

// traced reads the service's trace all the time.
func (d *doors) traced(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url()+"/debug/pprof/trace?seconds=3600", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Do(q)
	if err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, a.Body) // it ends with the request
	}()
	err = f()
	cancel()
	<-ended
	_ = a.Body.Close() // it was read as long as was wanted
	return errors.Join(err, d.untraced())
}

// untraced returns when the service's trace has ended: that goes on until the service
// notices that its reader is gone.
func (d *doors) untraced() error {
	for end := time.Now().Add(attachFor); ; time.Sleep(20 * time.Millisecond) {
		a, err := http.Get(d.url() + "/debug/pprof/trace?seconds=0.001")
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, a.Body)
		_ = a.Body.Close()
		if a.StatusCode == http.StatusOK {
			return nil
		}
		if time.Now().After(end) {
			return errors.New("the service's trace does not end")
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

func (d *doors) measure(ctx context.Context) error {
	if err := d.startLoad(ctx); err != nil {
		return err
	}
	table := harness.NewTable("what watches | pairs | CPU per request more, median | 95 % interval | p99 without | p99 more, median | 95 % interval | time traced")
	raw := harness.NewTable("what watches | CPU per request more, %, pair by pair | p99 more, %, pair by pair")
	var goals, saw []string
	first, rate, collections := math.NaN(), 0.0, 0.0
	for i, v := range d.doors(ctx) {
		if why := d.closed(i); v.pairs == 0 || why != nil {
			d.Logf("%s is left out: %v", v.name, why)
			continue
		}
		pairs, err := d.cost(ctx, v)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", v.name, err), d.load.Stop())
		}
		more, tail := pairs.More(stint.perRequest), pairs.More(stint.tail)
		cpu, late := harness.Of(more), harness.Of(tail)
		table.Row("%s | %d | %.2f %% | %v | %.2f ms | %.1f %% | %s | %.1f %%", v.name, len(pairs), cpu.Median, cpu,
			pairs.Without(stint.tail), late.Median, late.Text(1), 100*pairs.With(func(v stint) float64 { return v.TracedPart() }))
		raw.Row("%s | %s | %s", v.name, harness.Raw(more), harness.Raw(tail))
		if v.goal > 0 {
			name, _, _ := strings.Cut(v.name, ":")
			goals = append(goals, fmt.Sprintf("%s: below %.1f %% at the upper end of the interval, %s; at the median, %s",
				name, v.goal, harness.Met(cpu.High < v.goal), harness.Met(cpu.Median < v.goal)))
			seen := fmt.Sprintf("by %s %d collections", name, v.saw.Collections.Total)
			if v.whole {
				seen += fmt.Sprintf(" and %d requests in %d slices", v.saw.Pulled.Requests, v.saw.Pulled.Slices)
			}
			saw = append(saw, seen)
		}
		if math.IsNaN(first) {
			first = pairs.Without(stint.perRequest)
			rate = pairs.Without(func(v stint) float64 { return v.Rate() })
			collections = pairs.Without(func(v stint) float64 { return v.CycleRate() })
		}
	}
	if err := d.load.Stop(); err != nil {
		return err
	}
	d.Para("A service of net/http and encoding/json that decodes, prices and answers an order of eight lines. It links nothing of otelgc: each request is a span of the "+
		"OpenTelemetry SDK (otelhttp), and it serves net/http/pprof. %d MB long-lived heap, %.1f collections a second; %.0f requests/s, evenly, over %d connections; "+
		"%.1f us of CPU per request%s.", d.live, collections, rate, d.conns, first, d.placement())
	d.Table(table)
	d.Para("In one process, after %v of load, stretches with and without follow each other in the order ABBA, each behind %v that is not measured. "+
		"One of door two goes from the begin of a slice to the begin of another, %d whole cycles later, and that without is as long as the last of those; the others take %v. "+
		"CPU is getrusage of the service over the requests that it answered; p99 is from the moment a request is sent to its answer, at the load generator. "+
		"The sidecar has the lowest priority among the load's CPUs, and exports to a receiver that takes all. "+
		"Intervals are those of the median by order statistics, no distribution assumed.", d.warmup, d.settle, d.cycles, d.span)
	if d.unaligned > 0 {
		d.Para("%d stretches saw no slice begin within %v, and hold no whole cycles.", d.unaligned, d.sliceWait)
	}
	if len(goals) > 0 {
		d.Para("Goals: %s. The sidecar saw: %s.", strings.Join(goals, "; "), strings.Join(saw, "; "))
	}
	d.Para("Not tried: OpenTelemetry eBPF Instrumentation (OBI), whose probes in Go programs are on other functions, at each request.")
	if err := d.stop(ctx, collections); err != nil {
		return err
	}
	d.Table(raw)
	return nil
}

// closed says why a door cannot be measured here.
func (d *doors) closed(i int) error {
	if i == 0 {
		return gouprobe.Supported()
	}
	return nil
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
		if !with {
			s, err = d.stint(ctx, false, span)
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

// stop measures what the probes cost where there is nothing but stops, and what that is
// at a number of collections a second.
func (d *doors) stop(ctx context.Context, collections float64) error {
	if d.stops == 0 || d.closed(0) != nil {
		return nil
	}
	one := d.doors(ctx)[0]
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
		return fmt.Errorf("nothing but stops: %w", err)
	}
	more := harness.Each(pairs, func(p harness.Pair[shop.Usage]) float64 { return p.With.PerRequest() - p.Without.PerRequest() })
	v := harness.Of(more)
	const perCollection = 2
	d.Para("**A stop.** Where the service does nothing but to stop the world (`runtime.ReadMemStats`), %.0f times a second, door one has a stop take %.1f us of CPU more "+
		"(median of %d pairs, 95 %% %s; pair by pair %s). The service above has %.0f stops a second: %.3f %% of one CPU.",
		pairs.Without(shop.Usage.Rate), v.Median, len(pairs), v.Text(1), harness.Raw(more), perCollection*collections, v.Median*perCollection*collections/1e4)
	return nil
}

func (d *doors) placement() string {
	if d.cpus == nil {
		return ""
	}
	return fmt.Sprintf("; it is pinned to CPU %v, and load and sidecar have the others", d.cpus)
}
