package dotnet

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
)

// request asks for the events of collections and stops, and on .NET 10 for
// nothing else.
func request() dotnetipc.Request {
	return dotnetipc.Request{Providers: []dotnetipc.Provider{{
		Name: dotnetgc.Provider, Keywords: dotnetgc.Keywords, Level: dotnetgc.Level, Events: dotnetgc.EventIDs(),
	}}}
}

// request asks for what is wanted of the process.
func (p *process) request() dotnetipc.Request {
	q := request()
	if p.allocations.on {
		q.Providers[0].Level = dotnetgc.LevelAllocations
		q.Providers[0].Events = append(q.Providers[0].Events, dotnetgc.AllocationEventIDs()...)
	}
	return q
}

// errStreamEnded says that the runtime ended a session that we did not stop.
var errStreamEnded = errors.New("the process ended the session")

// session watches the process until its stream ends or ctx does.
func (p *process) session(ctx context.Context) error {
	client, err := p.connect(ctx)
	if err != nil {
		return err
	}
	info, err := client.ProcessInfo(ctx)
	if err != nil {
		return err
	}
	by, err := p.shift()
	if err != nil {
		return err
	}
	before := p.clock.Now()
	s, err := client.Collect(ctx, p.request())
	if err != nil {
		return err
	}
	after := p.clock.Now()
	defer func() { _ = s.Close() }()
	// Until it is read in full, there is no good order to end it in.
	early := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer early()
	if p.resume {
		if err := client.Resume(ctx); err != nil {
			return err
		}
	}
	v := &view{process: p, by: by, asked: before, began: after, share: p.budget.join(p.group)}
	defer v.share.leave()
	v.in = &stream{s: s, wait: headerFor, until: time.Now().Add(headerFor), pay: v.pay}
	r, err := nettrace.NewReader(v.in, nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		return v.broke(err)
	}
	v.reader = r
	v.in.wait, v.in.until = readFor, time.Time{}
	if err := sameClock(r.Header(), by, before, after); err != nil {
		return err
	}
	if err := p.open(ctx, info); err != nil {
		return err
	}
	p.cover.attach(madeAt(p.clock, p.id.Created), after)
	p.summary.Sessions++
	p.log.Info("watching a .NET process", "service", p.summary.Service, "runtime", info.Version, "collect_tracing", s.Version)
	if p.allocations.on {
		p.log.Info("allocations are sampled, as asked", "cost", costOfAllocations)
	}
	if !early() {
		return context.Cause(ctx)
	}
	defer stopper(ctx, v.in)()
	v.model = dotnetgc.NewModel(r.Header(), dotnetgc.Options{Since: after.Add(-by)})
	return v.read()
}

// shift returns what is to be added to an instant of the process's clock.
func (p *process) shift() (time.Duration, error) {
	if p.id.PID == 0 {
		return 0, nil // it cannot be seen: sameClock will tell
	}
	offset, err := namespaceOffset(p.clock, p.id.PID)
	return -offset, err
}

// clockTolerance bounds how far the runtime's stamp may lie outside of the time
// in which the session was begun.
const clockTolerance = 100 * time.Millisecond

// sameClock checks that the instants of the stream are ours.
func sameClock(h nettrace.Header, by time.Duration, before, after stall.Instant) error {
	sync := h.Frequency.Instant(h.SyncTicks).Add(by)
	if early := before.Sub(sync); early > clockTolerance {
		return fmt.Errorf("the clock of the process is %v behind CLOCK_MONOTONIC of this machine: it is in another time namespace that cannot be seen, or another machine", early)
	}
	if late := sync.Sub(after); late > clockTolerance {
		return fmt.Errorf("the clock of the process is %v ahead of CLOCK_MONOTONIC of this machine: it is in another time namespace that cannot be seen, or another machine", late)
	}
	return nil
}

// stream gives up a read after a while: a quiet process sends nothing. Each read is
// paid for.
type stream struct {
	s     *dotnetipc.Session
	wait  time.Duration
	until time.Time // all reads are over; zero for never
	pay   func(work time.Duration) error
	cut   atomic.Bool // it did not end in good order
}

func (s *stream) Read(b []byte) (int, error) {
	end := time.Now().Add(s.wait)
	if !s.until.IsZero() && s.until.Before(end) {
		end = s.until
	}
	if err := s.s.SetReadDeadline(end); err != nil {
		return 0, err
	}
	n, err := s.s.Read(b)
	if over := s.pay(readWork + time.Duration(n)*byteWork); over != nil {
		err = over
	}
	return n, err
}

// stopper ends the session in good order when ctx ends, while its stream is
// still being read. What it returns waits for it.
func stopper(ctx context.Context, in *stream) func() {
	read := make(chan struct{}) // closed when the stream was read to its end
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
		defer cancel()
		if err := in.s.Stop(limit); err == nil {
			select {
			case <-read:
			case <-limit.Done():
			}
		}
		in.cut.Store(true)
		_ = in.s.Close()
	})
	return func() {
		close(read)
		if !stop() {
			<-done
		}
	}
}
