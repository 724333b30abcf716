package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/sidecar/internal/follow"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// followed is what the machine did to the service's threads.
type followed struct {
	process *follow.Process // nil: nobody looks
	exact   bool            // its threads are followed; else they are counted
	place   *stall.Place
	denied  []stall.Interval // when they were ready and none ran, at most maxStops
	// While the load lasted:
	over   time.Duration
	totals hostwatch.Totals
}

// follow lets the service know what the machine does to its threads, as far as the
// rights allow. Without them, the time that it ran is the program's or the machine's.
// Where collections are forced, waits are only counted: a small machine has no CPU for
// collector, requests and load at once, so waits for the collector would be called the
// machine's.
func (r *runner) follow(pid int) {
	count := r.Inject == InjectForcedGC
	p, err := follow.Start(follow.Options{PID: pid, Clock: r.clock, Board: r.outside, CountersOnly: count, OnBatch: r.followed.keep})
	if err == nil {
		owner := p.Owner()
		r.followed.process, r.followed.place = p, &stall.Place{PID: owner.PID, Created: owner.Created}
		r.followed.exact, err = p.Exact()
	}
	switch {
	case err == nil || count:
	case errors.Is(err, fs.ErrPermission):
		r.notes = append(r.notes, "The service's threads are not followed, so that what the machine did to them is not told from the rest: give otelgc-sidecar CAP_BPF and CAP_PERFMON.")
	default:
		r.notes = append(r.notes, fmt.Sprintf("The service's threads are not followed, so that what the machine did to them is not told from the rest: %v.", err))
	}
}

// keep keeps what was seen. One goroutine calls it, until unfollow.
func (f *followed) keep(_ stall.Owner, b *hostwatch.Observations) {
	f.denied = append(f.denied, b.Denied[:min(len(b.Denied), maxStops-len(f.denied))]...)
}

// unfollow ends it; the service may have ended before.
func (r *runner) unfollow() error {
	if r.followed.process == nil {
		return nil
	}
	if err := r.followed.process.Stop(); !errors.Is(err, hostwatch.ErrTarget) {
		return err
	}
	return nil
}

// mark keeps the totals of the time of the load.
func (f *followed) mark(over time.Duration) {
	if f.process != nil {
		f.over, f.totals = over, f.process.Totals()
	}
}

// waited returns a sentence on how long the service's threads waited for a CPU, empty
// if that is not known.
func (f *followed) waited() string {
	if f.over <= 0 || f.totals.RunDelay <= 0 {
		return ""
	}
	return fmt.Sprintf("its threads waited %s for a CPU, all in all, in %s", textfmt.Length(f.totals.RunDelay), textfmt.Length(f.over))
}

// coverage returns a clause on how well the machine was watched for the service.
func (f *followed) coverage() string {
	switch {
	case f.process == nil:
		return ""
	case f.exact:
		return "; what it does to the service's threads is followed"
	}
	return "; what it does to the service's threads is counted, not followed"
}
