package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/demo"
	"github.com/otelgc/otelgc/sidecar/internal/doctor"
	"github.com/otelgc/otelgc/sidecar/internal/gaps"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// maxDuration bounds every run that ends by itself, maxSelfTest that of doctor.
const (
	maxDuration = 24 * time.Hour
	maxSelfTest = time.Minute
)

// defineProbe is the command that probes for some seconds and prints what it saw.
func defineProbe(set *flag.FlagSet) func(env) error {
	options := defineProbing(set)
	duration := set.Duration("duration", 10*time.Second, "how long")
	return func(e env) error {
		o, err := options(e)
		if err != nil {
			return err
		}
		if *duration <= 0 || *duration > maxDuration {
			return wrong("--duration %v: want more than 0s and at most %v", *duration, maxDuration)
		}
		p, err := start(o)
		if err != nil {
			return err
		}
		var kept gaps.Log
		read := make(chan struct{})
		go func() {
			defer close(read)
			for g := range p.All() {
				kept.Add(g)
			}
		}()
		if n := p.Note(); n != "" {
			e.log().Warn("the probe does not run as asked", "mode", p.Mode().String(), "why", n)
		}
		e.wait(*duration)
		summary := p.Stop()
		<-read
		report := gaps.NewReport(summary, &kept, threshold(o, p.Mode()))
		report.Limits = p.Limits()
		return e.print(func() any { return report.Document() }, report.Print)
	}
}

func (e env) log() *slog.Logger { return slog.New(slog.NewTextHandler(e.stderr, nil)) }

// defineProbing defines the flags of a command that probes, and returns what reads them.
func defineProbing(set *flag.FlagSet) func(env) (jitterprobe.Options, error) {
	cpu := set.Int("cpu", -1, "probe this CPU (default the last one that is allowed)")
	shortest := set.Duration("threshold", jitterprobe.DefaultThreshold, "shortest gap that counts; 100us where the mode is periodic")
	mode := set.String("mode", "auto", "auto, spin, runtime or periodic")
	interrupts := set.Bool("interrupts", true, "trace the interrupts of the CPU, to tell them from the hypervisor: each gets about 1us longer")
	force := set.Bool("force", false, "spin even on the only CPU or under a cgroup quota, where it harms the service")
	return func(e env) (o jitterprobe.Options, err error) {
		o = jitterprobe.Options{Force: *force, Interrupts: *interrupts}
		if o.Mode, err = jitterprobe.ParseMode(*mode); err != nil {
			return o, wrong("--mode %q: want auto, spin, runtime or periodic", *mode)
		}
		if o.CPU, err = e.cpu(*cpu); err != nil {
			return o, err
		}
		if e.given("threshold") {
			if *shortest < minThreshold || *shortest > time.Minute {
				return o, wrong("--threshold %v: want %v to %v", *shortest, minThreshold, time.Minute)
			}
			o.Threshold = *shortest
		}
		return o, nil
	}
}

// minThreshold is where the loop's own length begins to show.
const minThreshold = 50 * time.Nanosecond

// cpu returns the value of --cpu, nil if it was not given.
func (e env) cpu(n int) (*int, error) {
	if !e.given("cpu") {
		return nil, nil
	}
	if n < 0 {
		return nil, wrong("--cpu %d: want the number of a CPU", n)
	}
	return &n, nil
}

// start starts a probe. It is a wrong argument if the probe may not use its CPU, and a
// failure if it was to spin and may not under a quota.
func start(o jitterprobe.Options) (*jitterprobe.Probe, error) {
	p, err := jitterprobe.Start(o)
	switch {
	case errors.Is(err, jitterprobe.ErrCPU):
		return nil, exitError{err, Wrong}
	case err != nil:
		return nil, err
	case o.Mode != jitterprobe.Auto && errors.Is(p.Obstacle(), jitterprobe.ErrQuota):
		p.Stop()
		return nil, fmt.Errorf("refuse to spin: %w would throttle the service: use --mode periodic, or --force", p.Obstacle())
	}
	return p, nil
}

// threshold returns the one that is in force.
func threshold(o jitterprobe.Options, m jitterprobe.Mode) time.Duration {
	switch {
	case o.Threshold > 0:
		return o.Threshold
	case m == jitterprobe.Periodic:
		return jitterprobe.DefaultPeriodicThreshold
	}
	return jitterprobe.DefaultThreshold
}

// defineDemo is the command that runs a sample service under load and prints who is to
// blame for p99.
func defineDemo(set *flag.FlagSet) func(env) error {
	duration := set.Duration("duration", demo.DefaultDuration, "how long the load lasts")
	rate := set.Float64("rate", demo.DefaultRate, "requests per second")
	heap := set.String("live-heap", fmt.Sprintf("%dMiB", demo.DefaultLiveHeap>>20), "how many bytes the service keeps alive")
	inject := set.String("inject", string(demo.InjectNone), "what to do to the service: none, forced-gc, stw, cpu-hog or throttle")
	details := set.Bool("details", false, "print the tables instead of one screen")
	page := set.String("html", "", "the `file` for the pictures, off for none (default "+demoPage+"; none with --json or --details)")
	spin := set.Bool("spin", false, "let the probe spin on a machine of one or two CPUs, too")
	seed := set.Uint64("seed", 1, "the seed of what the requests ask for")
	return func(e env) (err error) {
		o := demo.Options{Seed: *seed, Spin: *spin, Progress: progress(e.stderr)}
		if o.Inject, err = demo.ParseInject(*inject); err != nil {
			return wrong("--inject: %w", err)
		}
		if o.LiveHeap, err = parseSize(*heap); err != nil {
			return wrong("--live-heap: %w", err)
		}
		if o.LiveHeap < demo.MinLiveHeap || o.LiveHeap > demo.MaxLiveHeap {
			return wrong("--live-heap %s: want 1MiB to %dGiB", *heap, demo.MaxLiveHeap>>30)
		}
		if o.Schedule, err = load.Fixed(*rate, *duration); err == nil {
			err = demo.CheckEnvironment()
		}
		if err != nil {
			return exitError{err, Wrong}
		}
		report, err := demo.Run(e.ctx, o)
		if stopped := e.ctx.Err(); stopped != nil && (errors.Is(err, context.Cause(e.ctx)) || errors.Is(err, stopped)) {
			return errors.New("interrupted") // package exec returns Err, not its cause
		}
		if err != nil {
			return err
		}
		if *page == "" && !*details && !*e.json {
			*page = demoPage
		}
		pictures, written := writePage(*page, report.HTML)
		text := func(w io.Writer) error { return report.Story(w, pictures) }
		if *details {
			text = report.Print
		}
		return errors.Join(e.print(func() any { return report.Document() }, text), written)
	}
}

// demoPage is where the pictures of the demo go.
const demoPage = "otelgc-demo.html"

// writePage writes a page to a file, and returns which.
func writePage(file string, write func(io.Writer) error) (string, error) {
	if file == "off" || file == "" {
		return "", nil
	}
	var page bytes.Buffer
	err := write(&page)
	if err == nil {
		err = os.WriteFile(file, page.Bytes(), 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("write pictures: %w (--html names another file, or off)", err)
	}
	return file, nil
}

// progress returns a function that shows on a terminal how far a load is, and nothing
// elsewhere.
func progress(to io.Writer) func(done, all time.Duration) {
	if !textfmt.IsTerminal(to) {
		return nil
	}
	return func(done, all time.Duration) {
		if done >= all {
			_, _ = fmt.Fprint(to, "\r\x1b[K")
			return
		}
		_, _ = fmt.Fprintf(to, "\rthe load runs: %s of %s", done.Truncate(time.Second), all.Truncate(time.Second))
	}
}

// parseSize parses a number of bytes such as 64MiB, 64M or 1000000.
func parseSize(s string) (uint64, error) {
	digits := strings.TrimRight(s, "KMGTiBkmgb")
	unit, is := map[string]uint64{
		"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10,
		"m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
		"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30,
	}[strings.ToLower(s[len(digits):])]
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 64)
	if !is || err != nil || n > (1<<63)/unit {
		return 0, fmt.Errorf("parse size %q: want a number of bytes such as 64MiB", s)
	}
	return n * unit, nil
}

// defineDoctor is the command that prints whether numbers from this machine can be
// believed.
func defineDoctor(set *flag.FlagSet) func(env) error {
	mode := set.String("mode", "spin", "the mode of the probe whose numbers are in question: spin, runtime or periodic")
	cpu := set.Int("cpu", -1, "the CPU of that probe (default the last one that is allowed)")
	target := set.Int("target", 0, "look at the process with this `PID` too")
	selfTest := set.Duration("self-test", doctor.DefaultSelfTest, "how long the self-test takes; 0 for none")
	return func(e env) (err error) {
		o := doctor.Options{Target: *target, SelfTest: *selfTest}
		if o.Mode, err = jitterprobe.ParseMode(*mode); err != nil || o.Mode == jitterprobe.Auto {
			return wrong("--mode %q: want spin, runtime or periodic", *mode)
		}
		if o.CPU, err = e.cpu(*cpu); err != nil {
			return err
		}
		if *target < 0 {
			return wrong("--target %d: want the PID of a process", *target)
		}
		if *selfTest < 0 || *selfTest > maxSelfTest {
			return wrong("--self-test %v: want 0s to %v", *selfTest, maxSelfTest)
		}
		if *selfTest == 0 {
			o.SelfTest = -1
		}
		report, err := doctor.Run(o)
		if errors.Is(err, doctor.ErrTarget) {
			return exitError{err, Wrong}
		}
		if err != nil {
			return err
		}
		err = e.print(func() any { return report }, func(w io.Writer) error {
			return report.Print(w, doctor.Layout{Colour: doctor.Colourful(w), Columns: textfmt.Columns(w)})
		})
		if failed := report.Failed(); err == nil && len(failed) > 0 {
			return exitError{fmt.Errorf("numbers from this machine cannot be believed: %s", strings.Join(failed, ", ")), Unbelievable}
		}
		return err
	}
}
