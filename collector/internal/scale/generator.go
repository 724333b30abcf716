package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// generator makes the telemetry of some hosts, as of now.
type generator struct {
	processes []*process
	perStep   int // spans of a process
	sent      int64
	last      time.Time // up to where spans have been sent
	events    time.Time // up to where events have been made
	round     int       // of events
	queue     []delayed
}

// delayed are events on their way.
type delayed struct {
	due    time.Time
	events plog.Logs
}

func newGenerator(now time.Time, rate int) *generator {
	g := &generator{last: now.Add(-ended), events: now, perStep: max(1, rate*int(every)/int(time.Second)/(hosts*perHost))}
	for h := range int64(hosts) {
		up := int64(time.Hour) * (h + 1)
		for i := range int64(perHost) {
			p := &process{
				boot: fmt.Sprintf("boot-%d", h), service: fmt.Sprintf("service-%d", i), pid: 1000 + i,
				offset: now.UnixNano() - up, told: up, unheard: h == hosts-1,
			}
			g.processes = append(g.processes, p)
		}
	}
	return g
}

// queued is for how long a sender keeps what it cannot send; what is older is
// lost.
const queued = 2 * time.Second

// tellAll sends the events that are due; they are made once a second, but for
// while the sources are silent.
func (g *generator) tellAll(ctx context.Context, now time.Time, silent bool, s *subject) {
	if !silent && now.Sub(g.events) >= time.Second {
		g.events, g.round = now, g.round+1
		for i, p := range g.processes {
			g.tell(p, i, now)
		}
	}
	kept := g.queue[:0]
	for _, d := range g.queue {
		if d.due.After(now) {
			kept = append(kept, d)
			continue
		}
		_ = s.events.ConsumeLogs(ctx, d.events) // it refuses nothing
	}
	clear(g.queue[len(kept):])
	g.queue = kept
}

// tell puts the events of p on their way. Some are late by 8 s, some come twice,
// and some overtake those before them.
func (g *generator) tell(p *process, i int, now time.Time) {
	if p.unheard {
		return
	}
	p.told = max(p.told, now.Add(-queued).UnixNano()-p.offset)
	ld, from := plog.NewLogs(), p.told
	p.events(ld, now.UnixNano()-p.offset)
	if i%perHost == 0 {
		p.gaps(ld, from, p.told)
	}
	delay := time.Second
	switch i % perHost {
	case 1:
		delay = 8 * time.Second
	case 2:
		again := plog.NewLogs()
		ld.CopyTo(again)
		g.queue = append(g.queue, delayed{now.Add(2 * time.Second), again})
	case 3:
		delay += time.Duration(g.round%2) * 1500 * time.Millisecond
	}
	g.queue = append(g.queue, delayed{now.Add(delay), ld})
}

// spans sends the spans that have ended since the last time, a batch per host.
func (g *generator) spans(ctx context.Context, now time.Time, s *subject) {
	until := now.Add(-ended)
	for first := 0; first < len(g.processes); first += perHost {
		td := ptrace.NewTraces()
		for _, p := range g.processes[first : first+perHost] {
			p.spans(td, g.perStep, g.last.UnixNano()-p.offset, until.UnixNano()-p.offset)
		}
		g.sent += int64(td.SpanCount())
		for _, c := range s.traces {
			_ = c.ConsumeTraces(ctx, td) // it refuses nothing
		}
	}
	g.last = until
}
