package evidence

import (
	"cmp"
	"slices"
	"sort"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

const (
	// keptGenerations are those in which a request may lie: a slice has one a second,
	// and another as it ends.
	keptGenerations = 4
	keptStops       = 4096    // of a slice, before the log grows
	maxStops        = 1 << 15 // of a slice: 40,000 a second
	keptBegins      = 4096
	maxOpen         = 1 << 15 // tasks that have begun and not ended
)

// Request is a user task without a parent that a trace shows from begin to end, and who
// had its time. Its goroutine is the one that began it.
type Request struct {
	stall.Span
	Task  uint64 // its number in the trace
	Name  string
	Share stall.Share
	// Moved says that another goroutine ended it. Who worked for it is not known: the
	// stops are charged as if it had never waited, and the rest is unseen.
	Moved bool
}

// Cut counts the requests of which something is missing. They have no share.
type Cut struct {
	End   uint64 // that went on when the slice ended
	Begin uint64 // that had begun before the slice, as far as their ends tell
	Over  uint64 // of which there was no room to remember the begin
}

// Requests finds the requests in the slices of a trace. It is a [Batches], too: the
// batch of what was learned last has the stops and the collections.
type Requests struct {
	Batches

	log     *stall.Log    // stops, numbered over all epochs
	kept    []*Generation // of the slice
	spare   *Generation
	begins  []begin // of collections
	epoch   uint64
	before  uint64 // the number of the newest collection of the epochs before
	newest  uint64 // of this one
	open    map[uint64]task
	working map[uint64]int // goroutines that began open requests, and how many
	cut     Cut

	joiner stall.Joiner
	one    stall.Evidence
	done   []Request
	let    []uint64
}

// task is one that has begun and not ended.
type task struct {
	at        stall.Instant
	goroutine uint64
	name      string
	root      bool
}

// begin is when a collection began.
type begin struct {
	at     stall.Instant
	number uint64
}

// NewRequests returns Requests for what is traced from start on.
func NewRequests(start stall.Instant) *Requests {
	r := &Requests{
		Batches: NewBatches(start),
		log:     stall.NewLog(stall.GoTrace, keptStops, keptBegins),
		open:    make(map[uint64]task),
		working: make(map[uint64]int),
		spare:   new(Generation),
	}
	r.log.Begin(start)
	return r
}

// Learn takes in the next generation of a slice, and keeps nothing of g. It returns the
// requests that ended in it, valid until the next call; the goroutines that need not be
// followed further; and of how many goroutines something was too much to keep: the time
// of their requests is unseen.
func (r *Requests) Learn(g *gotrace.Generation, breathe func()) (done []Request, unfollow []uint64, lost uint64) {
	r.UnseenUntil(g.Start)
	from := r.Batch.Watermark
	r.Batches.Learn(g)
	lost = r.keep(g, breathe)
	r.note(from)
	r.done = r.done[:0]
	for i := range g.Tasks {
		r.task(&g.Tasks[i])
		breathe()
	}
	r.let = r.let[:0]
	for i := range g.Tracks {
		if id := g.Tracks[i].Goroutine; r.working[id] == 0 {
			r.let = append(r.let, id)
		}
	}
	return r.done, r.let, lost
}

// Over ends a slice. What had begun in it and not ended is cut.
func (r *Requests) Over() {
	for _, t := range r.open {
		if t.root {
			r.cut.End++
		}
	}
	clear(r.open)
	clear(r.working)
	for _, c := range r.kept {
		r.spare = c // memory for the next slice
	}
	r.kept = r.kept[:0]
	r.log.Forget(r.Batch.Watermark)
	if _, room := r.log.Size(); room > keptStops {
		r.log.Resize(keptStops)
	}
}

// TakeCut returns what was cut since the last call.
func (r *Requests) TakeCut() Cut {
	c := r.cut
	r.cut = Cut{}
	return c
}

func (r *Requests) keep(g *gotrace.Generation, breathe func()) (lost uint64) {
	c := r.spare
	lost = c.Learn(g, breathe)
	r.kept = append(r.kept, c)
	r.spare = nil
	if len(r.kept) > keptGenerations {
		r.spare = r.kept[0]
		r.kept = slices.Delete(r.kept, 0, 1)
	}
	if r.spare == nil {
		r.spare = new(Generation)
	}
	return lost
}

// note remembers the stops of the batch, which begins at from, and when collections began.
func (r *Requests) note(from stall.Instant) {
	b := &r.Batch
	if b.Epoch != r.epoch {
		r.epoch, r.before = b.Epoch, r.newest
		r.begin(from, r.before+1) // one may be under way
	}
	for _, u := range b.Unseen {
		r.log.MarkUnseen(u)
	}
	kept, room := r.log.Size()
	if want := min(kept+len(b.Intervals), maxStops); want > room {
		r.log.Resize(want) // a stop that is forgotten would be a wait for a CPU
	}
	for _, v := range b.Intervals {
		if v.Ref != 0 {
			v.Ref += r.before
			r.begin(v.Start, v.Ref)
		}
		r.log.Add(v)
	}
	r.log.Advance(b.Watermark)
}

func (r *Requests) begin(at stall.Instant, number uint64) {
	if number <= r.newest {
		return
	}
	r.newest = number
	if len(r.begins) == keptBegins {
		r.begins = slices.Delete(r.begins, 0, keptBegins/2)
	}
	r.begins = append(r.begins, begin{at, number})
}

// collection returns the number of the collection that began last before at, 0 if that
// is not remembered.
func (r *Requests) collection(at stall.Instant) uint64 {
	if i := sort.Search(len(r.begins), func(i int) bool { return r.begins[i].at > at }); i > 0 {
		return r.begins[i-1].number
	}
	return 0
}

func (r *Requests) task(t *gotrace.Task) {
	switch {
	case t.End:
		r.end(t)
	case len(r.open) == maxOpen:
		r.cut.Over++
	default:
		// A number that is begun twice is the last one's.
		r.drop(t.ID)
		root := t.Parent == 0
		r.open[t.ID] = task{t.At, t.Goroutine, t.Name, root}
		if root {
			r.working[t.Goroutine]++
		}
	}
}

func (r *Requests) end(t *gotrace.Task) {
	begun, known := r.open[t.ID]
	if !known {
		r.cut.Begin++
		return
	}
	r.drop(t.ID)
	if !begun.root {
		return
	}
	q := Request{
		Span: stall.Span{Start: begun.at, End: max(begun.at, t.At)}, Task: t.ID, Name: begun.name,
		Moved: begun.goroutine != t.Goroutine,
	}
	r.join(&q, begun.goroutine)
	r.done = append(r.done, q)
}

// drop forgets a task that is open.
func (r *Requests) drop(id uint64) {
	t, known := r.open[id]
	if !known {
		return
	}
	delete(r.open, id)
	if !t.root {
		return
	}
	if r.working[t.goroutine]--; r.working[t.goroutine] == 0 {
		delete(r.working, t.goroutine)
	}
}

// join finds out who had the time of a request.
func (r *Requests) join(q *Request, goroutine uint64) {
	e := &r.one
	e.Process = r.log.Intervals(e.Process[:0], q.Span)
	e.Seen = r.log.Seen(e.Seen[:0], q.Span)
	e.Track, e.Own = e.Track[:0], e.Own[:0]
	if !q.Moved {
		for _, c := range r.kept {
			if c.Span.End > q.Start && c.Span.Start < q.End {
				c.Follow(e, goroutine, q.Span, stall.Span{})
			}
		}
	}
	slices.SortFunc(e.Own, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	for i := range e.Own {
		if v := &e.Own[i]; v.Cause.IsGC() {
			v.Ref = r.collection(v.Start)
		}
	}
	r.joiner.Join(&stall.Window{Start: q.Start, End: q.End}, e, &q.Share)
}
