package gopprof

import (
	"os"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
)

const (
	// budgetFloor of one CPU is allowed however little the process uses.
	budgetFloor = 0.005
	// mostOfTime is the part of the time in which the tracer may be ours: it has one
	// user, and others want it, too.
	mostOfTime = 0.1
	firstRest  = time.Second // after the attach
	restFor    = time.Second // of a rest that is told
	retryAfter = 10 * time.Second
	longRest   = 10 * time.Second // before which memory is given back
	mostRest   = 10 * time.Minute
)

// budget keeps the slices within a share of the process's CPU time. What a slice cost is
// not measured but priced, by what is in it: the process's CPU time varies by more than
// that from second to second.
type budget struct {
	share   float64
	created uint64        // of the process
	at      stall.Instant // of the last look
	cpu     time.Duration // of the process by then
	rate    float64       // CPUs that it used between the last two
	rest    time.Duration // before the next slice
	failed  time.Duration // the rest after the last slice, if it failed
}

// look reads how much CPU time the process has used. It returns which process it is.
func (b *budget) look(pid int, now stall.Instant) (created uint64, err error) {
	s, err := proc.ReadStat(os.DirFS("/"), strconv.Itoa(pid))
	if err != nil {
		return 0, err
	}
	if s.Ended() {
		return 0, os.ErrProcessDone
	}
	if wall := now.Sub(b.at); b.at != 0 && wall >= time.Second {
		b.rate = float64(s.CPU-b.cpu) / float64(wall)
	}
	if b.at == 0 || now.Sub(b.at) >= time.Second {
		b.at, b.cpu = now, s.CPU
	}
	return s.Created, nil
}

// plan says how long to rest after a slice that cost so much and took so long. After one
// that failed the rest is longer each time.
func (b *budget) plan(c gotrace.Cost, took time.Duration, failed bool) {
	allowed := max(budgetFloor, b.share*b.rate)
	b.rest = max(time.Duration(float64(c.Price())/allowed), time.Duration(float64(took)*(1/mostOfTime-1)))
	if !failed {
		b.failed = 0
	} else {
		b.failed = min(max(2*b.failed, retryAfter), mostRest)
		b.rest = max(b.rest, b.failed)
	}
	b.rest = min(b.rest, mostRest)
}
