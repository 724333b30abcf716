package dotnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Request asks for the events of collections and stops, and on .NET 10 for nothing
// else.
func Request() dotnetipc.Request {
	p := dotnetipc.Provider{Name: dotnetgc.Provider, Keywords: dotnetgc.Keywords, Level: dotnetgc.Level, Events: dotnetgc.EventIDs()}
	return dotnetipc.Request{Providers: []dotnetipc.Provider{p}}
}

// errStreamEnded says that the runtime ended a session that we did not stop.
var errStreamEnded = errors.New("the process ended the session")

// session begins a session with the process.
func (e *Source) session(ctx context.Context) error {
	e.tried = e.o.Clock.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	client, err := e.o.Connect(ctx)
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
	asked := e.o.Clock.Now()
	s, err := client.Collect(ctx, Request())
	if err != nil {
		return err
	}
	v := &view{Source: e, by: by, asked: asked, began: e.o.Clock.Now(), share: e.o.Budget.join(e.o.Group)}
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
	e.view, e.seen.Began = v, &Began{info, s.Version}
	e.cover.Attach(proc.MadeAt(e.o.Clock, e.o.ID.Created), v.began)
	return nil
}

// begin reads the header of the stream, and checks its clock.
func (e *Source) begin(ctx context.Context, client *dotnetipc.Client, v *view) error {
	if e.o.Resume {
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
func (e *Source) shift() (time.Duration, error) {
	if e.o.ID.PID == 0 {
		return 0, nil // it cannot be seen: sameClock will find out
	}
	offset, err := proc.TimeNamespace(e.o.Clock, e.o.ID.PID)
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
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopFor)
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

// view is what is seen of a process in one session.
type view struct {
	*Source
	in           *stream
	reader       *nettrace.Reader
	model        *dotnetgc.Model
	share        *share
	steps        uint64 // of the reader, that were paid for
	by           time.Duration
	asked, began stall.Instant                        // when the session was asked for, and when it was there
	quiet        int                                  // reads in a row that brought nothing
	idled        [deliveredIn / readFor]stall.Instant // when the last of them were over
	// Events that were lost, records that the model gave up, and threads that the
	// reader forgot, as far as they were reported.
	lost, givenUp, forgotten uint64
}

// read reads events until something is known, or a while has passed. The error is why
// the stream has ended.
func (v *view) read() error {
	for until := v.o.Clock.Now().Add(readFor); ; {
		e, err := v.reader.Next()
		now := v.o.Clock.Now()
		switch {
		case err == nil:
			at := v.reader.Header().Frequency.Instant(e.Ticks).Add(v.by)
			if err := v.during(at, now); err != nil {
				return v.failed(err)
			}
			v.model.Add(e)
			v.quiet = 0
			v.cover.Saw(at)
		case errors.Is(err, os.ErrDeadlineExceeded):
			v.idle(now)
		case err == io.EOF:
			v.cover.Saw(now) // the runtime has written all that it had
			return errStreamEnded
		default:
			return v.failed(err)
		}
		records := v.deliver()
		if v.in.cut.Load() {
			return errCut
		}
		if records > 0 {
			return v.pay(time.Duration(records) * recordWork)
		}
		if err != nil || now > until {
			return nil
		}
	}
}

// during refuses an event of a time in which the session was not there: the process
// would count as watched in a time that was not seen.
func (v *view) during(at, now stall.Instant) error {
	switch {
	case at > now.Add(clockTolerance):
		return fmt.Errorf("an event is of %v from now", at.Sub(now))
	case at < v.asked.Add(-clockTolerance):
		return fmt.Errorf("an event is of %v before the session", v.asked.Sub(at))
	}
	return nil
}

// errCut says that a stream was not read to its end: we are to end, and the process
// did not end it in time.
var errCut = errors.New("the process did not end the session in time")

// failed says why the stream cannot be read any longer.
func (v *view) failed(err error) error {
	if over := v.share.over.Load(); over != nil && errors.Is(err, ErrDetached) {
		return *over // wherever in the stream it was found
	}
	return fmt.Errorf("read events of process %d: %w", v.o.ID.PID, err)
}

// pay takes the work, and what was decoded since the last call, from the share of
// the stream, with the memory that it holds now. It returns why the stream must end.
func (v *view) pay(work time.Duration) error {
	held := 0
	if v.reader != nil {
		steps := v.reader.Steps()
		work += time.Duration(steps-v.steps) * stepWork
		v.steps = steps
		held += v.reader.Held()
	}
	if v.model != nil {
		held += v.model.Held()
	}
	return v.share.use(held, work)
}

// idle says that nothing is in the stream: what happened longer ago than delivery
// takes was seen. It counts reads in vain, not time: while the machine stood still, or
// the sidecar had no CPU, nothing was read, and the process may have been held up, too.
func (v *view) idle(now stall.Instant) {
	before := &v.idled[v.quiet%len(v.idled)]
	if v.quiet >= len(v.idled) && *before > v.began {
		v.cover.Saw(*before)
	}
	*before = now
	if v.quiet++; v.quiet > int(incompleteAfter/readFor) {
		v.model.Idle()
	}
}

// finish takes in what the end of the stream left, and frees the session.
func (v *view) finish() {
	v.model.Close()
	v.deliver()
	v.waiting.reset()
	v.share.leave()
	v.in.close()
}

// deliver adds to the batch what became known, and returns how many records that was.
func (v *view) deliver() int {
	out := v.model.Take()
	for i := range out.Stops {
		v.stop(&out.Stops[i])
	}
	for i := range out.Collections {
		c := &out.Collections[i]
		shiftCollection(&c.Collection, v.by)
		v.waiting.collection(c.Index)
		v.batch.Collections = append(v.batch.Collections, c.Collection)
		v.seen.Modes = append(v.seen.Modes, c.PauseMode)
	}
	for _, h := range out.Incomplete {
		shiftInstant(&h.Start, v.by)
		shiftInstant(&h.End, v.by)
		v.cover.Miss(stall.Span{Start: max(h.Start, v.began), End: h.End})
	}
	v.waiting.pending = 0
	if at, ok := v.model.Pending(); ok {
		v.waiting.pending = at.Add(v.by)
	}
	stats, threads := v.model.Stats(), v.reader.Stats().Forgotten
	v.seen.Lost += stats.Lost - v.lost
	v.seen.GivenUp += stats.Dropped - v.givenUp
	v.seen.Forgotten += threads - v.forgotten
	v.lost, v.givenUp, v.forgotten = stats.Lost, stats.Dropped, threads
	return len(out.Stops) + len(out.Collections) + len(out.Incomplete)
}

// stop adds a stop to the batch. Of one whose end was not seen, the model names the
// span as unseen.
func (v *view) stop(s *dotnetgc.Stop) {
	shiftStop(s, v.by)
	if s.RestartBegin == 0 {
		return
	}
	if s.Reason.IsGC() && len(s.Collections) > 0 {
		v.waiting.stop(s)
	}
	v.batch.Intervals = append(v.batch.Intervals, s.Interval())
	v.seen.Stops = append(v.seen.Stops, *s)
}

// A process in a time namespace of its own reads CLOCK_MONOTONIC with an offset
// (time_namespaces(7)). What it says is put on the shared clock here.

func shiftInstant(t *stall.Instant, by time.Duration) {
	if *t != 0 { // zero is not known
		*t = t.Add(by)
	}
}

func shiftMaybe(m *gc.Maybe[stall.Instant], by time.Duration) {
	if t, known := m.Get(); known {
		*m = gc.Known(t.Add(by))
	}
}

func shiftCollection(c *gc.Collection, by time.Duration) {
	if by == 0 {
		return
	}
	shiftMaybe(&c.Start, by)
	shiftMaybe(&c.End, by)
	shiftMaybe(&c.UtilizationSince, by)
	for i := range c.Pauses {
		p := &c.Pauses[i]
		shiftInstant(&p.Start, by)
		shiftInstant(&p.End, by)
		shiftInstant(&p.EndMax, by)
	}
}

func shiftStop(s *dotnetgc.Stop, by time.Duration) {
	for _, t := range []*stall.Instant{&s.Begin, &s.Suspended, &s.RestartBegin, &s.RestartEnd, &s.Resumed, &s.Blocked} {
		shiftInstant(t, by)
	}
}
