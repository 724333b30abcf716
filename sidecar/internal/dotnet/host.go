package dotnet

import (
	"context"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// host is what the machine does to a process, as its collections keep it. The
// zero host knows nothing.
type host struct {
	watch *hostwatch.Watch
	read  chan struct{} // closed when it is read no more; nil if it is somebody else's
}

// watchHost counts what the machine does to the process, unless somebody
// follows its threads already. Counters cost a few reads of /proc ten times a
// second; to follow the threads of every process would cost each of their
// switches.
func (p *process) watchHost(followed *hostwatch.Watch) {
	if p.id.PID == 0 {
		p.log.Info("what the machine does to the process cannot be seen from here")
		return
	}
	owner := stall.Owner{PID: int32(p.id.PID), Created: p.id.Created}
	if followed != nil && followed.Owner() == owner {
		p.host = host{watch: followed}
		return
	}
	w, err := hostwatch.New(hostwatch.Options{PID: p.id.PID, Clock: p.clock, CountersOnly: true})
	if err != nil {
		p.log.Info("what the machine does to the process is not counted", "error", err)
		return
	}
	if w.Owner() != owner {
		// It has ended, and its number was given to another.
		_ = w.Close()
		p.log.Info("what the machine does to the process is not counted", "error", dotnetipc.ErrNoProcess)
		return
	}
	read := make(chan struct{})
	p.host = host{watch: w, read: read}
	go func() {
		defer close(read)
		for err := error(nil); err == nil; _, err = w.Next(context.Background()) {
		}
	}()
}

// tell fills in what the machine did to the process while it collected, and
// while it was stopped for that.
func (h host) tell(c *gc.Collection) {
	s := spanOf(c)
	if h.watch == nil || s.Empty() {
		return
	}
	c.HostDuring = h.watch.During(s)
	for i := range c.Pauses {
		p := &c.Pauses[i]
		p.HostDuring = h.watch.During(stall.Span{Start: p.Start, End: p.End})
	}
}

// stop ends the watch. That the process ended before is no news.
func (h host) stop() {
	if h.read != nil {
		_ = h.watch.Close()
		<-h.read
	}
}

// spanOf returns the time of c with its pauses: the first of them begins before
// it, the last ends after it.
func spanOf(c *gc.Collection) stall.Span {
	start, known := c.Start.Get()
	end := c.End.Or(0)
	for _, p := range c.Pauses {
		if !known || p.Start < start {
			start, known = p.Start, true
		}
		end = max(end, p.End)
	}
	if !known {
		return stall.Span{}
	}
	return stall.Span{Start: start, End: end}
}
