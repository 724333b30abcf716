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
	"github.com/otelgc/otelgc/stall/gc"
)

// view is what is seen of a process in one session.
type view struct {
	*process
	in           *stream
	reader       *nettrace.Reader // nil before the header was read
	model        *dotnetgc.Model  // nil before the process has providers
	share        *share
	steps        uint64 // of the reader, that were paid for
	by           time.Duration
	asked, began stall.Instant                        // when the session was asked for, and when it was there
	quiet        int                                  // reads in a row that brought nothing
	idled        [deliveredIn / readFor]stall.Instant // when the last of them were over
	// Events that were lost, records that the model gave up, and threads that the
	// reader forgot, which the output was told of.
	lost, givenUp, forgotten uint64
}

// read hands the events on until the stream ends.
func (v *view) read() error {
	defer v.finish()
	for {
		e, err := v.reader.Next()
		now := v.clock.Now()
		switch {
		case err == nil:
			at := v.reader.Header().Frequency.Instant(e.Ticks).Add(v.by)
			if err := v.during(at, now); err != nil {
				return v.broke(err)
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
			return v.broke(err)
		}
		records := v.deliver()
		v.tell(now)
		if v.in.cut.Load() {
			return errCut
		}
		if records == 0 {
			continue
		}
		if over := v.pay(time.Duration(records) * recordWork); over != nil {
			return over
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

// broke says why the stream cannot be read any longer.
func (v *view) broke(err error) error {
	if over := v.share.over.Load(); over != nil && errors.Is(err, errDetached) {
		return *over // wherever in the stream it was found
	}
	return fmt.Errorf("read events of process %d: %w", v.id.PID, err)
}

// pay takes the work, and what was decoded since the last call, from the share of
// the stream, with the memory that it holds now. It returns why the stream must end.
func (v *view) pay(work time.Duration) error {
	held := len(v.allocations.byThread) * allocatorBytes
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

// finish hands out what the end of the stream left.
func (v *view) finish() {
	v.model.Close()
	v.deliver()
	v.waiting.reset()
	v.summary.inGC.reset()
}

// deliver hands on what became known, and returns how many records that was.
func (v *view) deliver() int {
	out := v.model.Take()
	for i := range out.Stops {
		v.stop(&out.Stops[i])
	}
	if len(out.Incomplete) > 0 {
		v.summary.inGC.reset()
	}
	for i := range out.Collections {
		v.tape.latency(out.Collections[i].PauseMode)
		c := &out.Collections[i].Collection
		shiftCollection(c, v.by)
		v.host.tell(c)
		v.usual.Judge(c)
		v.summary.collection(c)
		v.waiting.collection(c.Index)
		v.collection(c)
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
	if v.allocations.on {
		v.allocations.add(v.model.Allocations())
	}
	if lost := v.model.Stats().Lost; lost > v.lost {
		v.summary.Lost += lost - v.lost
		v.output.lost(lost - v.lost)
		v.lost = lost
	}
	if n := v.model.Stats().Dropped; n > v.givenUp {
		v.summary.Lost += n - v.givenUp
		v.output.overLimit(itemRecord, n-v.givenUp)
		v.givenUp = n
	}
	if n := v.reader.Stats().Forgotten; n > v.forgotten {
		v.output.overLimit(itemThread, n-v.forgotten) // of which losses are not seen
		v.forgotten = n
	}
	return len(out.Stops) + len(out.Collections) + len(out.Incomplete)
}

func (v *view) collection(c *gc.Collection) {
	v.output.collection(c)
	v.tape.collection(c)
}

func (v *view) stop(s *dotnetgc.Stop) {
	shiftStop(s, v.by)
	if s.RestartBegin == 0 {
		return // the model names the span as one that was not seen
	}
	if s.Start() < v.told {
		v.summary.Late++
	}
	v.summary.stop(s)
	switch {
	case !s.Reason.IsGC():
		v.output.suspension(s)
		v.tape.suspension(s)
	case len(s.Collections) == 0:
		v.collection(orphan(s))
	default:
		v.waiting.stop(s)
	}
}
