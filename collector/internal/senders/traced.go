package senders

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

const (
	// firstTraced and mostTraced are for how many requests there is room, at first and at
	// most: some slices with as many as a sidecar sends of one.
	firstTraced = 8
	mostTraced  = 512
	tracedBytes = int(unsafe.Sizeof(traced{})) // on the heap
	// spansLate is how long after Wait the span of a request may come: an SDK exports every
	// 5 s, and tries for some time.
	spansLate = 30 * time.Second
	// mostFits bounds how many requests of one span are looked at: it is of none of more.
	mostFits = 16
)

// TracedLog keeps the requests of a process that an execution trace shows, until the spans come
// that they are of. Joins may match it while it is written.
type TracedLog struct {
	Memory *budget.Memory
	Tally  *Tally
	Bytes  int // that the budget counts for them

	mu   sync.Mutex
	list []traced // by start and end
}

// Tally counts what became of traced requests. Each counts once, but for one that was joined
// and that another span fitted later, which is ambiguous, too.
type Tally struct {
	Joined    atomic.Uint64
	Ambiguous atomic.Uint64 // more than one span fitted, or the span fitted more than one request
	Unmatched atomic.Uint64 // no span fitted
	Limit     atomic.Uint64 // they found no room
}

// traced is a request and what became of it.
type traced struct {
	stall.Span
	slack       time.Duration
	task        uint64        // its name, hashed
	came        time.Duration // by the clock of the registry
	parts       [semconv.NumOwners]time.Duration
	covered     time.Duration
	collections int
	span        SpanID // that it was given to
	given       bool
	ambiguous   bool

	suitors, named int // of the spans at hand: that it fits, of these those of its name
}

// SpanID names a span of all traces.
type SpanID struct {
	Trace pcommon.TraceID
	Span  pcommon.SpanID
}

// taskSeed is that of the names of tasks: they only tell apart what fits.
var taskSeed = maphash.MakeSeed()

// Task returns what stands for the name of a task, or of a span.
func Task(name string) uint64 { return maphash.String(taskSeed, semconv.TaskName(name)) }

// Note keeps a request, at a time by the clock of the registry. It reports false if it is there
// already.
func (l *TracedLog) Note(q *semconv.Traced, clock time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(clock)
	t := traced{
		Span: q.Span, slack: q.Slack, task: Task(q.Task), came: clock,
		covered: q.Share.Covered, collections: q.Share.Collections,
	}
	for o := range semconv.NumOwners {
		t.parts[o] = *o.Part(&q.Share)
	}
	at, found := slices.BinarySearchFunc(l.list, &t, func(a traced, b *traced) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.task, b.task))
	})
	if found {
		return false
	}
	if len(l.list) == cap(l.list) && !l.resize(max(firstTraced, 2*cap(l.list))) {
		if at == 0 {
			l.Tally.Limit.Add(1) // it is the oldest, and goes
			return true
		}
		l.list[0].leave(&l.Tally.Limit)
		l.list = slices.Delete(l.list, 0, 1)
		at--
	}
	l.list = slices.Insert(l.list, at, t)
	return true
}

// resize makes room for so many, if there is that much.
func (l *TracedLog) resize(n int) bool {
	more := (n - cap(l.list)) * tracedBytes
	if n > mostTraced || more > 0 && !l.Memory.Grow(more) {
		return false
	}
	if more < 0 {
		l.Memory.Forget(-more)
	}
	l.Bytes += more
	if n == 0 {
		l.list = nil
		return true
	}
	l.list = append(make([]traced, 0, n), l.list...)
	return true
}

// Expire forgets requests whose span will not come any more. It reports whether there are
// others.
func (l *TracedLog) Expire(clock time.Duration) (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(clock)
	return len(l.list) > 0
}

func (l *TracedLog) expire(clock time.Duration) {
	for i := range l.list {
		if l.list[i].over(clock, l.Memory) {
			l.list[i].leave(&l.Tally.Unmatched)
		}
	}
	l.list = slices.DeleteFunc(l.list, func(t traced) bool { return t.over(clock, l.Memory) })
	switch n := len(l.list); {
	case n == 0 && cap(l.list) > 0:
		l.resize(0)
	case cap(l.list) > firstTraced && n <= cap(l.list)/4:
		l.resize(cap(l.list) / 2)
	}
}

func (t *traced) over(clock time.Duration, m *budget.Memory) bool {
	return clock-t.came > time.Duration(m.Wait)+spansLate
}

// Close forgets all, whose process is forgotten. The budget counts Bytes until the caller
// counts them off.
func (l *TracedLog) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.list {
		l.list[i].leave(&l.Tally.Unmatched)
	}
	l.list = nil
}

// leave counts a request that is forgotten, by why, if it was not counted.
func (t *traced) leave(why *atomic.Uint64) {
	if !t.given && !t.ambiguous {
		why.Add(1)
	}
}

// Any reports whether there are requests.
func (l *TracedLog) Any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list) > 0
}

// Root is a span that may be a request, on the clock of its host.
type Root struct {
	stall.Span
	Off   time.Duration // how far it may be off
	Task  uint64        // its name, see [Task]
	ID    SpanID
	Index int // of the caller's
	// Share is that of the request that it is, nil if none is known.
	Share *stall.Share

	pick int // of a request, -1 for none
}

// Match gives requests to the spans that they are of. A span begins before its request, and
// ends before it, by [semconv.MaxTaskLag] at most and as far as its times are known. A request
// is given to the one span that it fits, if that fits no other request; where there are several
// the name decides, if it is that of one alone. Else it is given to none. A span that comes again
// has its request again.
func (l *TracedLog) Match(roots []Root) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.list {
		l.list[i].suitors, l.list[i].named = 0, 0
	}
	for i := range roots {
		l.pick(&roots[i])
	}
	for i := range roots {
		r := &roots[i]
		if r.pick < 0 {
			continue
		}
		q := &l.list[r.pick]
		alone := q.suitors == 1 || q.named == 1 && r.Task == q.task
		if !alone || q.ambiguous || q.given && q.span != r.ID {
			continue
		}
		if !q.given {
			q.given, q.span = true, r.ID
			l.Tally.Joined.Add(1)
		}
		r.Share = q.share()
	}
	for i := range l.list {
		// Of one that was given to a span before, this is a second span or the same.
		if q := &l.list[i]; q.suitors > 0 && !q.ambiguous && (!q.given || !l.has(q, roots)) {
			q.ambiguous = true
			l.Tally.Ambiguous.Add(1)
		}
	}
}

// has reports whether the span that q was given to is among the roots.
func (l *TracedLog) has(q *traced, roots []Root) bool {
	for i := range roots {
		if roots[i].Share != nil && roots[i].ID == q.span {
			return true
		}
	}
	return false
}

// pick finds the request that a span fits, and tells all that it does.
func (l *TracedLog) pick(r *Root) {
	r.pick, r.Share = -1, nil
	from, _ := slices.BinarySearchFunc(l.list, r.Start.Add(-r.Off-semconv.MaxTaskLag), func(t traced, at stall.Instant) int { return cmp.Compare(t.Start, at) })
	fits, named, one := 0, 0, -1
	for i := from; i < len(l.list) && fits < mostFits; i++ {
		q := &l.list[i]
		if q.Start.Sub(r.Start) > r.Off+2*semconv.MaxTaskLag {
			break
		}
		if !q.fits(r) {
			continue
		}
		fits++
		q.suitors++
		if q.task == r.Task {
			named++
			q.named++
			one = i
		} else if named == 0 {
			one = i
		}
	}
	if fits == 1 || named == 1 && fits < mostFits {
		r.pick = one
	}
}

// fits reports whether a span may be the one of the request.
func (t *traced) fits(r *Root) bool {
	off := r.Off + min(t.slack, semconv.MaxTaskLag)
	before := func(span, task stall.Instant) bool {
		lag := task.Sub(span)
		return -off <= lag && lag <= semconv.MaxTaskLag+off
	}
	return before(r.Start, t.Start) && before(r.End, t.End)
}

// share returns who had the time of the request.
func (t *traced) share() *stall.Share {
	s := &stall.Share{Total: t.Duration(), Covered: t.covered, Collections: t.collections, Fidelity: stall.Exact}
	for o := range semconv.NumOwners {
		*o.Part(s) = t.parts[o]
	}
	return s
}
