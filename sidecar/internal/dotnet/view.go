package dotnet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
)

// view is what is seen of a process in one session.
type view struct {
	*events
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
	for until := v.clock.Now().Add(readFor); ; {
		e, err := v.reader.Next()
		now := v.clock.Now()
		switch {
		case err == nil:
			at := v.reader.Header().Frequency.Instant(e.Ticks).Add(v.by)
			if err := v.during(at, now); err != nil {
				return v.failed(err)
			}
			v.model.Add(e)
			v.quiet = 0
			v.cover.saw(at)
		case errors.Is(err, os.ErrDeadlineExceeded):
			v.idle(now)
		case err == io.EOF:
			v.cover.saw(now) // the runtime has written all that it had
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
// would be told as watched in a time that nobody saw.
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
	if over := v.share.over.Load(); over != nil && errors.Is(err, errDetached) {
		return *over // wherever in the stream it was found
	}
	return fmt.Errorf("read events of process %d: %w", v.id.PID, err)
}

// pay takes the work, and what was decoded since the last call, from the share of
// the stream, with the memory that it holds now. It returns why the stream must end.
func (v *view) pay(work time.Duration) error {
	held := 0
	if v.sampled {
		held = maxAllocators * allocatorBytes
	}
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

// idle says that nothing is in the stream: what happened longer ago than
// delivery takes was seen. That is so many reads that looked in vain, not a time: who
// was stopped, or had no CPU, has not looked meanwhile, and the process may have
// been held up with him.
func (v *view) idle(now stall.Instant) {
	before := &v.idled[v.quiet%len(v.idled)]
	if v.quiet >= len(v.idled) && *before > v.began {
		v.cover.saw(*before)
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
		v.seen.modes = append(v.seen.modes, c.PauseMode)
	}
	for _, h := range out.Incomplete {
		shiftInstant(&h.Start, v.by)
		shiftInstant(&h.End, v.by)
		v.cover.miss(stall.Span{Start: max(h.Start, v.began), End: h.End})
	}
	v.waiting.pending = 0
	if at, ok := v.model.Pending(); ok {
		v.waiting.pending = at.Add(v.by)
	}
	if v.sampled {
		v.seen.allocations = append(v.seen.allocations, v.model.Allocations()...)
	}
	stats, threads := v.model.Stats(), v.reader.Stats().Forgotten
	v.seen.lost += stats.Lost - v.lost
	v.seen.givenUp += stats.Dropped - v.givenUp
	v.seen.forgotten += threads - v.forgotten
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
	v.seen.stops = append(v.seen.stops, *s)
}
