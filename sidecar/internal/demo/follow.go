package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// followed is what the machine did to the service's threads.
type followed struct {
	process *hostwatch.Watch // nil if nothing watches them
	exact   bool             // its threads are followed; else they are counted
	place   *stall.Place
	over    chan struct{} // closed when all of the watch was read
	// After that:
	denied []stall.Interval // when they were ready and none ran, at most maxStops
}

// follow lets the service know what the machine does to its threads, as far as the
// rights allow. Without them, the time that it ran is the program's or the machine's.
func (r *runner) follow(pid int) {
	p, err := hostwatch.New(hostwatch.Options{PID: pid, Clock: r.clock})
	if err == nil {
		f, owner := &r.followed, p.Owner()
		f.process, f.place, f.over = p, &stall.Place{PID: owner.PID, Created: owner.Created}, make(chan struct{})
		f.exact, err = p.Exact()
		go f.run(r.outside)
	}
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission):
		r.notes = append(r.notes, "The service's threads are not followed, so what the machine did to them is not known: give otelgc-sidecar CAP_BPF and CAP_PERFMON.")
	default:
		r.notes = append(r.notes, fmt.Sprintf("The service's threads are not followed, so what the machine did to them is not known: %v.", err))
	}
}

// run keeps what the watch sees, and writes it on the board, until the watch is over.
func (f *followed) run(to *watch.Watch) {
	defer close(f.over)
	for {
		b, err := f.process.Next(context.Background())
		if err != nil {
			return // io.EOF
		}
		f.denied = append(f.denied, b.Intervals[:min(len(b.Intervals), maxStops-len(f.denied))]...)
		to.Watched(f.process.Owner(), f.process.Observations())
	}
}

// unfollow ends it; the service may have ended before.
func (r *runner) unfollow() error {
	if r.followed.process == nil {
		return nil
	}
	err := r.followed.process.Close()
	<-r.followed.over
	if errors.Is(err, hostwatch.ErrTarget) {
		return nil
	}
	return err
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
