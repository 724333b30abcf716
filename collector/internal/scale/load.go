package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// process is a service that sends spans, and of which a source sends events.
type process struct {
	boot    string
	service string
	pid     int64
	offset  int64 // wall clock of its host minus its instants, ns
	told    int64 // up to where the source has told, instant
	unheard bool  // no source watches it
}

const (
	pauseEvery  = int64(10 * time.Millisecond) // of each process, by its instants
	pauseLength = int64(100 * time.Microsecond)
)

// paused returns how much of a span of instants the process was stopped.
func paused(start, end int64) (d int64) {
	for at := start / pauseEvery * pauseEvery; at < end; at += pauseEvery {
		d += max(0, min(end, at+pauseLength)-max(start, at))
	}
	return d
}

func (p *process) resource(m pcommon.Map) {
	m.PutStr("service.name", p.service)
	m.PutStr(semconv.AttrBootID, p.boot)
	m.PutInt(semconv.AttrProcessPID, p.pid)
	m.PutStr("host.name", "node-of-"+p.boot)
	m.PutStr("telemetry.sdk.language", "go")
}

// events appends what the source has to tell from p.told to now, as otelgc does
// once a second: a pause per cycle, and a gap of the machine for each.
func (p *process) events(ld plog.Logs, now int64) {
	rl := ld.ResourceLogs().AppendEmpty()
	p.resource(rl.Resource().Attributes())
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	add := func(name string, source stall.Origin, start, end int64) pcommon.Map {
		r := records.AppendEmpty()
		r.SetEventName(name)
		m := r.Attributes()
		m.PutStr(semconv.AttrBootID, p.boot)
		m.PutInt(semconv.AttrProcessPID, p.pid)
		m.PutStr(semconv.AttrSource, source.String())
		m.PutInt(semconv.AttrStart, start)
		m.PutInt(semconv.AttrEnd, end)
		return m
	}
	for at := (p.told + pauseEvery - 1) / pauseEvery * pauseEvery; at < now; at += pauseEvery {
		m := add(semconv.EventCollection, stall.GCWatch, at, at+pauseLength)
		m.PutInt(semconv.AttrGCIndex, at/pauseEvery)
		m.PutStr(semconv.AttrGCKind, "background")
		m.PutEmptySlice(semconv.AttrPauseStart).AppendEmpty().SetInt(at)
		m.PutEmptySlice(semconv.AttrPauseEnd).AppendEmpty().SetInt(at + pauseLength)
	}
	m := add(semconv.EventSourceStatus, stall.GCWatch, p.told, now)
	m.PutInt(semconv.AttrWatermark, now)
	m.PutInt(semconv.AttrWallOffset, p.offset)
	m.PutInt(semconv.AttrWallError, 100)
	p.told = now
}

// gaps appends gaps of the whole machine between the pauses.
func (p *process) gaps(ld plog.Logs, from, to int64) {
	rl := ld.ResourceLogs().AppendEmpty()
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for at := from / pauseEvery * pauseEvery; at < to; at += pauseEvery {
		r := records.AppendEmpty()
		r.SetEventName(semconv.EventGap)
		m := r.Attributes()
		m.PutStr(semconv.AttrBootID, p.boot)
		m.PutStr(semconv.AttrSource, stall.ProbePeriodic.String())
		m.PutStr(semconv.AttrCause, stall.HostSteal.String())
		m.PutStr(semconv.AttrScope, stall.ScopeMachine.String())
		m.PutInt(semconv.AttrStart, at+pauseEvery/2)
		m.PutInt(semconv.AttrEnd, at+pauseEvery/2+pauseLength)
	}
}

// attrWant is what a span has to be charged with, seconds of gc.pause; it is
// on the spans of the soak.
const attrWant = "want"

// spans appends n requests that began from start on, evenly until end.
func (p *process) spans(td ptrace.Traces, n int, start, end int64) {
	rs := td.ResourceSpans().AppendEmpty()
	p.resource(rs.Resource().Attributes())
	list := rs.ScopeSpans().AppendEmpty().Spans()
	list.EnsureCapacity(n)
	for i := range int64(n) {
		at := start + (end-start)*i/int64(n)
		length := int64(time.Millisecond) * (1 + i%20)
		s := list.AppendEmpty()
		s.SetKind(ptrace.SpanKindServer)
		s.SetName(fmt.Sprintf("GET /orders/%d", i%10))
		s.SetTraceID(pcommon.TraceID{1: byte(i), 2: byte(i >> 8), 15: 1})
		s.SetSpanID(pcommon.SpanID{0: byte(i), 1: byte(i >> 8), 7: 1})
		s.SetStartTimestamp(pcommon.Timestamp(at + p.offset))
		s.SetEndTimestamp(pcommon.Timestamp(at + length + p.offset))
		m := s.Attributes()
		m.PutStr("http.request.method", "GET")
		m.PutStr("http.route", "/orders/{id}")
		m.PutInt("http.response.status_code", 200)
		m.PutStr("server.address", "orders.shop.svc.cluster.local")
		m.PutStr("url.path", "/orders/4711")
		m.PutDouble(attrWant, time.Duration(paused(at, at+length)).Seconds())
	}
}

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
