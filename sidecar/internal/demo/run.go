package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// Bounds of the parts of a run. With a schedule of ten seconds they sum to less
// than thirty.
const (
	startLimit = 5 * time.Second  // for the service to come up, and a second per GiB of heap
	endLimit   = 11 * time.Second // for the service to resolve what is open: it takes nine at most, and a busy machine more
)

// warmWindows is room for the windows of requests that only opened a
// connection.
const warmWindows = 1024

// Run runs the demo and returns its report. When it returns, no process, thread
// or file of it is left; if this process is killed, the service sees to that.
func Run(ctx context.Context, o Options) (_ *blame.Report, err error) {
	startup := startLimit + time.Duration(o.LiveHeap>>30)*2*time.Second
	limit := startup + o.Schedule.Span() + load.Grace + endLimit
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the run did not end within %v", limit))
	defer cancel()
	clock, err := stall.NewClock()
	if err != nil {
		return nil, fmt.Errorf("start clock: %w", err)
	}
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return nil, fmt.Errorf("make directory for the board: %w: name one in TMPDIR that this user may write to", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// No link may lead to a board, and some may lead to TMPDIR.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("make directory for the board: %w", err)
	}

	r := &runner{Options: o, clock: clock, cpus: runtime.NumCPU(), dir: dir}
	if err := r.watch(filepath.Join(real, "board")); err != nil {
		return nil, err
	}
	stop := sync.OnceValue(r.unwatch)
	defer func() { err = errors.Join(err, stop()) }()
	back := r.place()
	defer back()
	// The thread that paces the load sits in system calls; the others must not
	// wait until the runtime notices and takes its P away.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))))

	if err := r.service(ctx, startup, limit); err != nil {
		return nil, err
	}
	if err := stop(); err != nil {
		return nil, err
	}
	return r.report(r.outside.Probes()[0].Stop())
}

type runner struct {
	Options
	clock   stall.Clock
	cpus    int   // before the probe took one
	own     int   // the CPU of the load generator, -1 if it has none of its own
	others  []int // the service's, if so
	outside *watch.Watch
	dir     string
	board   string
	gaps    outsideGaps
	read    chan error // why the reading of outside ended
	// The machine and the service's threads, as far as they are followed.
	followed followed
	served   time.Duration // from the service's hello to its end, in which it injects
	account  account
	outcome  load.Outcome
	notes    []string
}

// watch starts the probe outside of the service, and reads it.
func (r *runner) watch(path string) (err error) {
	options := jitterprobe.Options{Clock: r.clock}
	if r.cpus < cpusToSpin && !r.Spin {
		// It wakes up on the CPU that will be the load generator's.
		options.Mode = jitterprobe.Periodic
		if allowed, err := proc.CPUs(os.DirFS("/"), "self"); err == nil {
			options.CPU = &allowed[0]
		}
	}
	p, err := jitterprobe.Start(options)
	if err == nil {
		r.outside, err = watch.Start(watch.Options{Probe: p, Boards: []string{path}, Clock: r.clock})
	}
	if err != nil {
		return fmt.Errorf("probe the machine: %w", err)
	}
	r.read = make(chan error, 1)
	go func() {
		for {
			b, err := r.outside.Next(context.Background())
			if err != nil {
				r.read <- err
				return
			}
			r.gaps.add(b.Intervals)
		}
	}()
	var why string
	if r.board, why = r.outside.Board(); r.board == "" {
		r.notes = append(r.notes, "The service did not learn of the machine's gaps: "+why)
	}
	return nil
}

// cpusToSpin is how many CPUs a machine has that spares one for a probe that spins.
const cpusToSpin = 3

// place gives the load generator a CPU of its own, so that it is not late because the
// service runs. The function that it returns takes it back.
func (r *runner) place() (back func()) {
	own, others, back, err := load.Apart()
	if err != nil {
		r.notes = append(r.notes, fmt.Sprintf("The load generator has no CPU of its own: %v.", err))
		return func() {}
	}
	r.own, r.others = own, others
	return back
}

// unwatch stops the probe. When it returns, all of its gaps have been read.
func (r *runner) unwatch() error {
	err := r.outside.Close()
	if read := <-r.read; read != io.EOF {
		err = errors.Join(err, read)
	}
	return err
}

// service runs the service, and the load on it, from beginning to end.
func (r *runner) service(ctx context.Context, startup, limit time.Duration) (err error) {
	options := childOptions{
		LiveHeap: r.LiveHeap, Inject: r.Inject, Seed: r.Seed, Board: r.board, Limit: limit,
		Parent: os.Getpid(), Dir: r.dir,
	}
	var limited *quota
	if r.Inject == InjectThrottle {
		if limited, err = newQuota(); err != nil {
			return err
		}
		// The last to go: a cgroup with a process in it stays.
		defer func() { err = errors.Join(err, limited.remove()) }()
	}
	in, out := io.Pipe()
	child, err := r.start(ctx, roleService, options, out)
	if err != nil {
		return err
	}
	defer func() { _ = child.stop(0) }()
	r.account.maxWindows = len(r.Schedule) + warmWindows
	ready, read := make(chan struct{}), make(chan error, 1)
	go func() {
		read <- r.account.read(in, func() { close(ready) })
		_ = in.Close() // a child that still writes gets an error
	}()
	go func() {
		<-child.done
		_ = out.Close() // the account has all
	}()
	if err := r.await(ctx, child, ready, read, startup); err != nil {
		return err
	}
	if limited != nil {
		if err := limited.take(child.cmd.Process.Pid); err != nil {
			return err
		}
	}
	greeted := r.clock.Now()
	r.follow(child.cmd.Process.Pid)
	defer func() { err = errors.Join(err, r.unfollow()) }()
	if r.Inject == InjectHog {
		hog, err := r.start(ctx, roleHog, options, nil)
		if err != nil {
			return err
		}
		defer func() { _ = hog.stop(time.Second) }()
		r.drive(ctx)
		if err := hog.stop(time.Second); err != nil {
			return err
		}
	} else {
		r.drive(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.served = r.clock.Now().Sub(greeted)
	stopped := child.stop(endLimit)
	if err := <-read; r.account.failure != nil || err != nil || stopped != nil {
		return cmp.Or(context.Cause(ctx), r.account.failure, errors.Join(stopped, err)) // the first kills the service
	}
	if !r.account.ended {
		return errors.New("read account of service: it ended without a farewell")
	}
	return nil
}

// await returns when the service takes requests.
func (r *runner) await(ctx context.Context, child *process, ready <-chan struct{}, read <-chan error, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ready:
		return nil
	case err := <-read:
		if ctx.Err() != nil {
			return context.Cause(ctx) // which has killed it
		}
		stopped := child.stop(time.Second)
		return cmp.Or(r.account.failure, errors.Join(errors.New("the service ended before it took requests"), err, stopped))
	case <-timer.C:
		return fmt.Errorf("the service did not come up within %v", limit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drive sends the load.
func (r *runner) drive(ctx context.Context) {
	if r.Progress != nil {
		defer r.showProgress()()
	}
	r.outcome = load.Run(ctx, load.Options{
		Address:  r.account.hello.Address,
		Schedule: r.Schedule,
		Clock:    r.clock,
		Path:     func(i int) string { return "/item?id=" + strconv.Itoa(i) },
		Header:   arrivalHeader,
	})
}

// showProgress calls Progress each second until the function that it returns is called.
func (r *runner) showProgress() (end func()) {
	begin, ticker, over := time.Now(), time.NewTicker(time.Second), make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		all := r.Schedule.Span()
		for {
			select {
			case <-ticker.C:
				r.Progress(min(time.Since(begin), all-1), all)
			case <-over:
				r.Progress(all, all)
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(over)
		shown.Wait()
	}
}

// process is a child: this binary again, in another role. It ends when its
// standard input is closed.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{} // closed when it has ended
	err   error         // how, after that
}

// start starts a child on the CPUs of the service.
func (r *runner) start(ctx context.Context, role string, o childOptions, out io.Writer) (p *process, err error) {
	err = load.On(r.others, func() error {
		p, err = startProcess(ctx, role, o, out)
		return err
	})
	return p, err
}

// startProcess starts a child, which is killed when ctx ends. Its standard output goes
// to out.
func startProcess(ctx context.Context, role string, o childOptions, out io.Writer) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode options of %s: %w", role, err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, optionsVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.WaitDelay = 5 * time.Second // for what it wrote to be read
	p := &process{cmd: cmd, done: make(chan struct{})}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("make pipe to %s: %w", role, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	go func() {
		defer close(p.done)
		if err := cmd.Wait(); err != nil {
			p.err = fmt.Errorf("%s ended: %w", role, err)
		}
	}()
	return p, nil
}

// stop ends the child, by force after limit, and returns how it ended. It may be
// called again.
func (p *process) stop(limit time.Duration) error {
	_ = p.stdin.Close() // it may have ended, or be asked to, by now
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		_ = p.cmd.Process.Kill() // it may have ended by now
		<-p.done
	}
	return p.err
}
