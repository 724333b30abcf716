package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
)

// errHelp says that the help was asked for and printed.
var errHelp = errors.New("help was printed")

// parse parses the flags of a verb that takes nothing else. What is wrong with
// them is one line.
func parse(e env, set *flag.FlagSet, args []string) error {
	if err := parseFlags(e, set, args, ""); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return wrong("argument %q is not wanted (see otelgc-sidecar %s --help)", set.Arg(0), set.Name())
	}
	return nil
}

// parseFiles parses flags and names of files in any order.
func parseFiles(e env, set *flag.FlagSet, args []string) (files []string, err error) {
	for {
		if err := parseFlags(e, set, args, " FILE..."); err != nil {
			return nil, err
		}
		if set.NArg() == 0 {
			break
		}
		// flag stops at the first name, and behind "--" for good.
		rest := set.Args()
		if at := len(args) - len(rest); at > 0 && args[at-1] == "--" {
			files = append(files, rest...)
			break
		}
		files, args = append(files, rest[0]), rest[1:]
	}
	if len(files) == 0 {
		return nil, wrong("no FILE: name a Go trace, a .nettrace file or a recording (see otelgc-sidecar %s --help)", set.Name())
	}
	return files, nil
}

func parseFlags(e env, set *flag.FlagSet, args []string, operands string) error {
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprintf(e.stdout, "otelgc-sidecar %s [flags]%s\n\n", set.Name(), operands)
		if err := printFlags(e.stdout, set); err != nil {
			return fmt.Errorf("print help: %w", err)
		}
		return errHelp
	case err != nil:
		return wrong("%s (see otelgc-sidecar %s --help)", wanted(set, twoDashes.Replace(err.Error())), set.Name())
	}
	return nil
}

// notEmpty refuses flags that were given and say nothing, as --target "$PID" does in
// a script without a PID: it must not run as if nobody had asked.
func notEmpty(set *flag.FlagSet, names ...string) error {
	for _, name := range names {
		if f := set.Lookup(name); given(set, name) && f.Value.String() == "" {
			kind, _ := flag.UnquoteUsage(f)
			return wrong("--%s: want %s, got nothing", name, kind)
		}
	}
	return nil
}

// twoDashes has the errors of package flag name flags as the other messages do.
var twoDashes = strings.NewReplacer(
	"flag provided but not defined: -", "unknown flag --",
	"flag needs an argument: -", "no value for flag --",
	" for flag -", " for flag --", // invalid value "x" for flag -cpu: parse error
	" for -", " for --", // invalid boolean value "x" for -json: parse error
)

// given reports whether a flag was on the command line.
func given(set *flag.FlagSet, name string) bool {
	found := false
	set.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// probeFlags are the flags of a verb that probes.
type probeFlags struct {
	set       *flag.FlagSet
	cpu       int
	threshold time.Duration
	mode      string
	force     bool
	trace     bool
}

func (p *probeFlags) add(set *flag.FlagSet) {
	p.set = set
	set.IntVar(&p.cpu, "cpu", -1, "probe this CPU (default the last one that is allowed)")
	set.DurationVar(&p.threshold, "threshold", jitterprobe.DefaultThreshold, "shortest gap that counts; 100us where the mode is periodic")
	set.StringVar(&p.mode, "mode", "auto", "auto, spin, runtime or periodic")
	set.BoolVar(&p.trace, "interrupts", true, "trace the interrupts of the CPU, to tell them from the hypervisor: each gets about 1us longer")
	set.BoolVar(&p.force, "force", false, "spin even on the only CPU or under a cgroup quota, where it harms the service")
}

// minThreshold is where the loop's own length begins to show.
const minThreshold = 50 * time.Nanosecond

func (p *probeFlags) options() (jitterprobe.Options, error) {
	mode, err := jitterprobe.ParseMode(p.mode)
	if err != nil {
		return jitterprobe.Options{}, wrong("--mode %q: want auto, spin, runtime or periodic", p.mode)
	}
	o := jitterprobe.Options{Mode: mode, Force: p.force, Interrupts: p.trace}
	if given(p.set, "cpu") {
		if p.cpu < 0 {
			return o, wrong("--cpu %d: want the number of a CPU", p.cpu)
		}
		o.CPU = &p.cpu
	}
	if given(p.set, "threshold") {
		if p.threshold < minThreshold || p.threshold > time.Minute {
			return o, wrong("--threshold %v: want %v to %v", p.threshold, minThreshold, time.Minute)
		}
		o.Threshold = p.threshold
	}
	return o, nil
}

// start starts a probe. That it may not use its CPU is a wrong argument; that
// it may not spin under a quota, as it was told to, is a failure.
func start(o jitterprobe.Options) (*jitterprobe.Probe, error) {
	p, err := jitterprobe.Start(o)
	switch {
	case errors.Is(err, jitterprobe.ErrCPU):
		return nil, wrongArgument{err}
	case err != nil:
		return nil, err
	case o.Mode != jitterprobe.Auto && o.Mode != p.Mode() && p.Reason() == jitterprobe.CPUQuota:
		p.Stop()
		return nil, fmt.Errorf("refuse to spin: %s would throttle the service: use --mode periodic, or --force", strings.TrimSuffix(p.Note(), ": periodic"))
	}
	return p, nil
}

// parseSize parses a number of bytes such as 64MiB, 64M or 1000000.
func parseSize(s string) (uint64, error) {
	digits := strings.TrimRight(s, "KMGTiBkmgb")
	unit, ok := map[string]uint64{
		"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10,
		"m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
		"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30,
	}[strings.ToLower(s[len(digits):])]
	n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 64)
	if !ok || err != nil || n > (1<<63)/unit {
		return 0, fmt.Errorf("parse size %q: want a number of bytes such as 64MiB", s)
	}
	return n * unit, nil
}
