package main

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// owner is a name that a request's time can have.
type owner string

const (
	suspension owner = "runtime.suspension"
	schedGC    owner = "sched.gc"
	sched      owner = "sched"
	queue      owner = "queue"
	app        owner = "app"
	appOrHost  owner = "app_or_host"
	uncertain  owner = "uncertain"
	unseen     owner = "unseen"
)

// owners are the columns of the matrix. No source watches the machine here, so
// that no cause of it can be named.
var owners = []owner{
	"gc.pause", "gc.assist", "gc.sweep", "gc.wait", schedGC, suspension, sched, queue, app, appOrHost, uncertain, unseen,
}

func (o owner) isGC() bool {
	c, err := stall.ParseCause(string(o))
	return err == nil && c.IsGC()
}

// first returns what a share names first: the longest part, as Share.Explain has
// it, but for time that nobody saw, which counts as a name here.
func first(s *stall.Share) owner {
	name, longest := unseen, s.Unseen
	take := func(o owner, d time.Duration) {
		if d > longest {
			name, longest = o, d
		}
	}
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		take(owner(c.String()), s.Charged[c])
	}
	take(app, s.App)
	take(appOrHost, s.AppOrHost)
	take(uncertain, s.Uncertain)
	return name
}

// leftOver returns the part of the window's time that has no owner, or more than
// one.
func leftOver(s *stall.Share) time.Duration {
	d := s.Total - s.Uncertain - s.App - s.AppOrHost - s.Unseen
	for _, charged := range s.Charged {
		d -= charged
	}
	return d
}
