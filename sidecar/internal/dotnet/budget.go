package dotnet

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	// streamsPart is the part of the sidecar's memory that streams get.
	streamsPart = 0.25
	// maxStreamBytes is what all streams may hold where nothing limits the
	// sidecar's memory. One of a real process holds some 100 kB, and a few MB for
	// a moment.
	maxStreamBytes = 64 << 20

	// streamsWork is the CPU time that all streams may take, in CPUs, and
	// workWindow the time over which it is judged: a stream that has something to
	// say at once, as at its start or when the sidecar had no CPU, may take
	// their product. By the prices below a process that collects a thousand times
	// in a second takes a twentieth of a CPU.
	streamsWork = 0.5
	workWindow  = 10 * time.Second

	// The prices of the work, each a few times what was measured: time that was
	// measured here would depend on what else runs.
	readWork   = 5 * time.Microsecond  // a read, and the deadline before it
	byteWork   = time.Nanosecond       // decoded
	stepWork   = 500 * time.Nanosecond // an event, or what else [nettrace.Reader.Steps] counts
	recordWork = 20 * time.Microsecond // a collection, stop or hole that is exported

	// A stream reports its memory and its work in portions: what it does in
	// between costs no lock.
	heldPortion = 64 << 10
	workPortion = 2 * time.Millisecond
)

// ErrDetached says that a stream took more than its share.
var ErrDetached = errors.New("detached for a while")

// Budget is the memory and the work that the streams of all processes share. As
// long as it lasts every stream takes what it needs. When it does not, the group
// that has most of it gives back, by that of its streams which has most: it is
// told to end. So the others lose nothing, and a group that is alone may use all.
type Budget struct {
	Memory float64 // bytes
	Work   float64 // nanoseconds in workWindow, of which older ones count less

	now func() stall.Instant

	mu     sync.Mutex
	shares []*share
}

// NewBudget returns a budget for a sidecar that may have limit bytes of memory, 0
// for any.
func NewBudget(now func() stall.Instant, limit int64) *Budget {
	b := &Budget{now: now, Memory: maxStreamBytes, Work: streamsWork * float64(workWindow)}
	if limit > 0 {
		b.Memory = min(b.Memory, streamsPart*float64(limit))
	}
	return b
}

// share is the part of one stream. Only use and leave are called, by its own
// goroutine.
type share struct {
	b     *Budget
	group string
	over  atomic.Pointer[error] // why it must end, nil if it need not

	known   int           // bytes, as b knows them
	pending time.Duration // work that b does not know of

	held float64 // bytes; guarded by b.mu, as all that follows
	work float64 // nanoseconds, at the time of at
	at   stall.Instant
}

// join begins a stream of a group.
func (b *Budget) join(group string) *share {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &share{b: b, group: group, at: b.now()}
	b.shares = append(b.shares, s)
	return s
}

// leave ends it.
func (s *share) leave() {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.shares = slices.DeleteFunc(s.b.shares, func(o *share) bool { return o == s })
}

// use says how many bytes the stream holds, and what work it was since the last
// call. It returns why the stream must end, nil if it need not. It is to be called
// after every read: so a stream is over its share by no more than a portion, and
// what is decoded of one block.
func (s *share) use(held int, work time.Duration) error {
	s.pending += work
	if s.pending >= workPortion || held > s.known+heldPortion || held < s.known-heldPortion {
		s.report(held)
	}
	if why := s.over.Load(); why != nil {
		return *why
	}
	return nil
}

func (s *share) report(held int) {
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for _, o := range b.shares {
		o.age(now)
	}
	s.held, s.work = float64(held), s.work+float64(s.pending)
	s.known, s.pending = held, 0
	b.fit(b.Memory, func(o *share) float64 { return o.held }, fmt.Errorf(
		"%w: of the %.0f MiB that all event streams may hold it took more than any other: give the sidecar more memory, or watch fewer processes",
		ErrDetached, b.Memory/(1<<20)))
	b.fit(b.Work, func(o *share) float64 { return o.work }, fmt.Errorf(
		"%w: of the %.1f CPUs that all event streams may take it took more than any other: find out what makes it send so many events, or watch fewer processes",
		ErrDetached, streamsWork))
}

// age makes work count less as it gets older.
func (s *share) age(now stall.Instant) {
	if d := now.Sub(s.at); d > 0 {
		s.work *= math.Exp(-float64(d) / float64(workWindow))
		s.at = now
	}
}

// fit tells streams to end until the others have no more than total.
func (b *Budget) fit(total float64, of func(*share) float64, why error) {
	for {
		groups, sum := make(map[string]float64), 0.0
		for _, o := range b.shares {
			if o.over.Load() == nil {
				groups[o.group] += of(o)
				sum += of(o)
			}
		}
		if sum <= total {
			return
		}
		var most *share
		for _, o := range b.shares {
			if o.over.Load() != nil {
				continue
			}
			if most == nil || groups[o.group] > groups[most.group] || groups[o.group] == groups[most.group] && of(o) > of(most) {
				most = o
			}
		}
		most.over.Store(&why)
	}
}
