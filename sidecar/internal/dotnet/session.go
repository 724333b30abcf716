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
func (e *events) request() dotnetipc.Request {
	p := dotnetipc.Provider{Name: dotnetgc.Provider, Keywords: dotnetgc.Keywords, Level: dotnetgc.Level, Events: dotnetgc.EventIDs()}
	if e.sampled {
		p.Level = dotnetgc.LevelAllocations
		p.Events = append(p.Events, dotnetgc.AllocationEventIDs()...)
	}
	return dotnetipc.Request{Providers: []dotnetipc.Provider{p}}
}

// errStreamEnded says that the runtime ended a session that we did not stop.
var errStreamEnded = errors.New("the process ended the session")

// session begins a session with the process.
func (e *events) session(ctx context.Context) error {
	e.tried = e.clock.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	client, err := e.connect(ctx)
	if err != nil {
		return err
	}
	info, err := client.ProcessInfo(ctx)
	if err != nil {
		return err
	}
	by, err := e.shift()
	if err != nil {
		return err
	}
	asked := e.clock.Now()
	s, err := client.Collect(ctx, e.request())
	if err != nil {
		return err
	}
	v := &view{events: e, by: by, asked: asked, began: e.clock.Now(), share: e.budget.join(e.group)}
	v.in = &stream{s: s, wait: headerFor, until: time.Now().Add(headerFor), pay: v.pay, read: make(chan struct{})}
	// Until the header is read, there is no good order to end the session in.
	early := context.AfterFunc(ctx, func() { _ = s.Close() })
	if err = e.begin(ctx, client, v); !early() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = s.Close()
		v.share.leave()
		return err
	}
	v.in.stopOn(e.ctx)
	e.view, e.seen.began = v, &began{info, s.Version}
	e.cover.attach(madeAt(e.clock, e.id.Created), v.began)
	return nil
}

// begin reads the header of the stream, and checks its clock.
func (e *events) begin(ctx context.Context, client *dotnetipc.Client, v *view) error {
	if e.resume {
		if err := client.Resume(ctx); err != nil {
			return err
		}
	}
	r, err := nettrace.NewReader(v.in, nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		return v.failed(err)
	}
	v.reader = r
	v.in.wait, v.in.until = readFor, time.Time{}
	v.model = dotnetgc.NewModel(r.Header(), dotnetgc.Options{Since: v.began.Add(-v.by)})
	return sameClock(r.Header(), v.by, v.asked, v.began)
}

// shift returns what is to be added to an instant of the process's clock.
func (e *events) shift() (time.Duration, error) {
	if e.id.PID == 0 {
		return 0, nil // it cannot be seen: sameClock will tell
	}
	offset, err := namespaceOffset(e.clock, e.id.PID)
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
	cut   atomic.Bool   // it did not end in good order
	read  chan struct{} // closed when the stream was read to its end
	end   func() bool   // what stops the session is not called any more
	ended chan struct{} // closed when it was called
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

// stopOn ends the session in good order when ctx ends, while its stream is still being
// read.
func (s *stream) stopOn(ctx context.Context) {
	s.ended = make(chan struct{})
	s.end = context.AfterFunc(ctx, func() {
		defer close(s.ended)
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
		defer cancel()
		if err := s.s.Stop(limit); err == nil {
			select {
			case <-s.read:
			case <-limit.Done():
			}
		}
		s.cut.Store(true)
		_ = s.s.Close()
	})
}

// close frees the session, when its stream is read no more.
func (s *stream) close() {
	close(s.read)
	if !s.end() {
		<-s.ended
	}
	_ = s.s.Close()
}
