package target

import (
	"github.com/otelgc/otelgc/stall"
)

// threadsEvery is the number of statuses between two looks at the threads.
const threadsEvery = 10

// GCThreads is the CPU time of the collector's threads of one name since they
// were made, in steps of 10 ms. It is no time in GC: under Workstation GC the
// program's own threads collect. Threads that died are missing.
type GCThreads struct {
	Name    string `json:"name"`
	Threads int    `json:"threads"`
	CPU     int64  `json:"cpu"`
	At      int64  `json:"at"` // when it was read last
}

// gcThreads sums up the collector's threads.
func gcThreads(threads []thread, at stall.Instant) []GCThreads {
	var all []GCThreads
	for _, name := range []string{serverThread, backgroundThread} {
		g := GCThreads{Name: name, At: int64(at)}
		for i := range threads {
			if threads[i].name == name {
				g.Threads++
				g.CPU += int64(threads[i].cpu)
			}
		}
		if g.Threads > 0 {
			all = append(all, g)
		}
	}
	return all
}

// lookAtThreads keeps the CPU time of the collector's threads, as long as they
// can be read: of a process that ended, what was read last.
func (p *process) lookAtThreads(now stall.Instant) {
	if p.id.PID == 0 {
		return
	}
	if threads, err := threadsOf(p.proc, p.id.PID); err == nil && len(threads) > 0 {
		p.summary.GCThreads = gcThreads(threads, now)
	}
}
