// Package causes injects causes of gaps, and compares them with those that a probe names.
package causes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/stall"
)

// Experiment takes the CPU away from a probe in known ways: by a cgroup's quota, a thread
// that competes for the CPU, SIGSTOP, page faults, timer interrupts, softirqs of packets,
// and the probing process's own garbage collector. It compares the cause that the probe
// names for each gap with the injection at that moment. Some cases are repeated by a
// process with fewer rights. It needs root.
func Experiment() harness.Experiment {
	return harness.Experiment{Name: "causes", Title: "Causes of gaps against what was injected", Answer: "Are the causes of the probe's gaps right?", Measurement: new(experiment)}
}

// experiment is what the flags say.
type experiment struct {
	span time.Duration
	only string
	page *harness.Page
	cpu  int // of the probe
}

func (e *experiment) Flags(f *flag.FlagSet) {
	f.DurationVar(&e.span, "span", 20*time.Second, "length of each case")
	f.StringVar(&e.only, "only", "", "`part` of the names of the cases to run; all of them without")
}

func (e *experiment) Measure(ctx context.Context, s *harness.Page) error {
	e.page = s
	tallies, err := e.run(ctx, cases)
	if err != nil {
		return err
	}
	write(s, e, tallies)
	if n := unmet(verdicts(tallies)); n > 0 {
		return fmt.Errorf("causes of gaps: %d %w", n, harness.ErrUnmet)
	}
	return nil
}

// run runs those cases that this process has the rights for.
func (e *experiment) run(ctx context.Context, list []testCase) ([]*tally, error) {
	var all []*tally
	for i := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c := &list[i]
		if !strings.Contains(c.name, e.only) {
			continue
		}
		t, err := e.once(ctx, c)
		var missing missingRights
		switch {
		case errors.As(err, &missing):
			e.page.Logf("%s: left out: %v", c.name, err)
			t = &tally{c: c, left: err.Error()}
		case err != nil:
			return nil, fmt.Errorf("%s: %w", c.name, err)
		default:
			e.page.Logf("%s: %s%s", c.name, t, t.oddities())
		}
		all = append(all, t)
	}
	return all, nil
}

// missingRights says that a case cannot be injected here.
type missingRights struct{ error }

func (m missingRights) Unwrap() error { return m.error }

// once runs a case: a child probes while the injector works beside it. It compares the
// gaps of the child with the injector's record.
func (e *experiment) once(ctx context.Context, c *testCase) (_ *tally, err error) {
	spec := childSpec{Mode: c.mode, Work: c.work, Rights: c.rights, Trap: c.trap, Wait: c.wait}
	if c.prepare != nil {
		undo, err := c.prepare(&spec)
		if err != nil {
			return nil, missingRights{err}
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	p, err := startChild(spec)
	if err != nil {
		return nil, err
	}
	if p.hello.Missing != "" {
		_, err := p.stop()
		return nil, errors.Join(missingRights{errors.New(p.hello.Missing)}, err)
	}
	e.cpu = p.hello.CPU
	in := &injection{ctx: ctx, child: p, end: time.Now().Add(e.span * time.Duration(max(1, c.times)))}
	if in.clock, err = stall.NewClock(); err == nil && c.mode == "spin" {
		in.tid, err = probeThread(p.Process.Pid)
	}
	switch {
	case err != nil:
	case c.inject != nil:
		err = c.inject(in)
	default:
		in.wait(time.Until(in.end))
	}
	s, endErr := p.stop()
	if err := errors.Join(err, endErr); err != nil {
		return nil, err
	}
	if s.Missing != "" {
		return nil, missingRights{errors.New(s.Missing)}
	}
	in.truth = append(in.truth, s.Truth...)
	return newTally(c, s, *in), nil
}

// injection is one that is under way, and what is known of it.
type injection struct {
	ctx   context.Context
	end   time.Time
	clock stall.Clock
	child *process // that probes
	tid   int      // its probe's thread, if it spins

	truth    []stall.Span    // when the injector took the CPU
	switched []stall.Instant // when the probe's thread was switched out, in order
}

// on reports whether the injection is to go on.
func (in *injection) on() bool { return time.Now().Before(in.end) && in.ctx.Err() == nil }

func (in *injection) wait(d time.Duration) { _ = harness.Wait(in.ctx, d) } // on says whether it was cut short

// injector injects until the injection is to end.
type injector func(*injection) error

// testCase is one injection and what a probe has to call it.
type testCase struct {
	name    string
	mode    string // of the probe
	work    string // what the child does to itself
	rights  rights // of the child
	trap    bool   // its probe's memory is one, and wait for each fault to be ended
	wait    bool
	times   int // it takes so many spans; 0 is 1
	prepare func(*childSpec) (undo func() error, err error)
	inject  injector

	// want is the cause that the gaps of the injection have, and evidence what is
	// said of each of them, in part. Without want there is no truth, and never is a
	// cause that may not occur.
	want     string
	evidence string
	never    []string
	but      bool // in the injection it may
	// vague is what is true as well and says less: it decides nothing.
	vague string
	// A gap is the injection's if it is within these bounds, and the injection
	// covers so much of it, in hundredths. Zero: it need only overlap, and no
	// other gap overlaps the same stretch.
	from, below time.Duration
	cover       int
}

// stops are the causes of this process's runtime.
var stops = []string{stall.RuntimeUnknown.String(), stall.GCPause.String()}

// cases are all that are run.
var cases = append(full, fewer()...)

// full are those with all rights.
var full = []testCase{
	{name: "nothing", mode: "spin", never: stops},
	{
		name: "quota of a fifth of a CPU", mode: "spin", prepare: quota, inject: watchQuota,
		want: stall.HostThrottled.String(), from: 5 * time.Millisecond, below: time.Second, cover: 70, never: stops,
	},
	{
		name: "the limit of a real-time thread", mode: "spin", inject: realtime,
		want: stall.HostThrottled.String(), vague: stall.HostPreempted.String(),
		from: 20 * time.Millisecond, below: time.Second, cover: 70, never: stops,
		times: 6, // one a second
	},
	{
		name: "competing thread", mode: "spin", inject: compete,
		want: stall.HostPreempted.String(), from: 100 * time.Microsecond, below: time.Minute, cover: 70, never: stops,
	},
	{
		name: "competing thread, mode runtime", mode: "runtime", inject: compete,
		want: stall.HostPreempted.String(), from: 100 * time.Microsecond, below: time.Minute, cover: 70,
	},
	{
		name: "moved to another CPU", mode: "spin", inject: move,
		want: stall.HostPreempted.String(), evidence: "moved to another CPU", from: time.Microsecond, below: time.Second, never: stops,
	},
	{
		name: "SIGSTOP", mode: "spin", inject: stopAndGo,
		want: stall.HostSuspended.String(), from: 2 * time.Millisecond, below: time.Minute, cover: 70, never: stops,
	},
	{
		name: "SIGSTOP, mode runtime", mode: "runtime", inject: stopAndGo,
		want: stall.HostSuspended.String(), from: 2 * time.Millisecond, below: time.Minute, cover: 70,
	},
	{
		name: "page faults", mode: "spin", inject: undisturbed(faults), trap: true,
		want: stall.HostFault.String(), from: time.Microsecond, below: 50 * time.Microsecond, never: stops,
	},
	{
		name: "page faults that wait", mode: "spin", inject: longFaults, trap: true, wait: true,
		want: stall.HostFault.String(), from: 500 * time.Microsecond, below: time.Minute, cover: 70, never: stops,
	},
	{
		name: "timer interrupts", mode: "spin", inject: undisturbed(timers),
		want: stall.HostIRQ.String(), vague: stall.HostIRQOrSteal.String(), from: time.Microsecond, below: 50 * time.Microsecond, never: stops,
	},
	{
		name: "network softirqs", mode: "spin", inject: undisturbed(packets),
		want: stall.HostIRQ.String(), vague: stall.HostIRQOrSteal.String(), from: time.Microsecond, below: 100 * time.Microsecond, never: stops,
	},
	{name: "own garbage collection, mode spin", mode: "spin", work: "gc", never: stops},
	{
		name: "own garbage collection, mode runtime", mode: "runtime", work: "gc held",
		want: stall.RuntimeUnknown.String(), from: time.Microsecond, below: time.Second, cover: 70,
	},
	{
		name: "no garbage collection, mode runtime", mode: "runtime", work: "calm",
		want: stall.RuntimeUnknown.String(), from: time.Microsecond, below: 30 * time.Microsecond, never: stops, but: true,
	},
}

// again are the cases that are run with fewer rights, too: there a gap may be
// undecided, and not be wrong.
var again = []string{
	"competing thread", "competing thread, mode runtime", "moved to another CPU", "SIGSTOP", "SIGSTOP, mode runtime",
	"page faults", "page faults that wait", "timer interrupts",
}

// fewer returns them.
func fewer() (list []testCase) {
	for _, r := range []rights{nobody, noRecords} {
		for _, c := range full {
			if slices.Contains(again, c.name) {
				c.name, c.rights = c.name+", "+string(r), r
				list = append(list, c)
			}
		}
	}
	return list
}
