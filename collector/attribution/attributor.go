package attribution

import (
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/stall"
)

// Attributor joins spans with events. It is made by [New]; its methods are safe
// for concurrent use. It has no goroutine of its own: time passes by
// [Attributor.Tick].
type Attributor struct {
	config Config

	mu      sync.Mutex
	known   registry
	held    queue
	sums    sums
	lost    Lost
	scratch []stall.Interval
	join    joiner
}

// New makes an Attributor.
func New(c Config) *Attributor {
	c = c.withDefaults()
	a := &Attributor{config: c}
	a.lost.Events = make(map[string]uint64)
	a.known.init(c, &a.lost)
	a.sums.init(c.MaxServices)
	a.join.init()
	return a
}

// Learn takes in the events among the records. Records of others are left alone;
// ld is not changed.
func (a *Attributor) Learn(ld plog.Logs) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				e, ours, err := parse(r, rl.Resource().Attributes())
				switch {
				case err != nil:
					a.lost.Events[err.Error()]++
				case ours:
					a.learn(&e)
				}
			}
		}
	}
}

func (a *Attributor) learn(e *event) {
	h, p, l := a.known.of(e)
	for _, v := range e.stalls {
		if v.Scope == stall.ScopeTarget {
			v.Owner.PID = int32(e.status.target.number)
		}
		if !l.add(v, &a.scratch) {
			a.lost.Duplicates++
		}
	}
	switch e.name {
	case stall.EventSourceStatus:
		h.now = max(h.now, e.status.at)
		h.wall.learn(&e.status)
		l.learn(&e.status)
	case stall.EventCollection:
		if p != nil {
			p.note(e.stalls, e.index)
		}
	}
}

// Lost returns what was lost so far.
func (a *Attributor) Lost() Lost {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.lost
	l.Events = maps.Clone(a.lost.Events)
	return l
}

// Held returns how many spans wait, and about how many bytes they take.
func (a *Attributor) Held() (spans, bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held.spans, a.held.bytes
}

// Tick releases what is due. The owner calls it some times a second.
func (a *Attributor) Tick(now time.Time) { a.release(now, false) }

// Flush releases everything, with what is known.
func (a *Attributor) Flush() { a.release(time.Time{}, true) }
