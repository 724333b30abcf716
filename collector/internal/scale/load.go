package main

import (
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
