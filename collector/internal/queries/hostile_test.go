package queries

import (
	"maps"
	"math"
	"testing"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// wallOffset is what the wall clock shows more than CLOCK_MONOTONIC, ns.
const wallOffset = 1_700_000_000_000_000_000

// sent is what senders told of one machine with one process, seen from 1 s to 3 s
// after the boot, and of one of its spans.
type sent struct {
	span     [2]uint64 // on the wall clock
	resource m         // of the process
	says     m         // the span's resource otherwise
	silent   bool      // nothing watches the process
	nowhere  bool      // no boot id
	events   []m
	want     share
}

type m = map[string]any

// ms is a time of the wall clock, so many milliseconds after the boot.
func ms(n uint64) uint64 { return wallOffset + n*1e6 }

// What a sidecar (pid 77) tells of host pid 7: it did not run for 100 ms.
func preempted(created int64) m {
	return m{
		"eventName": "otelgc.jitter.gap", "process.pid": int64(77), "otelgc.source": "target", "otelgc.cause": "host.preempted", "otelgc.jitter.scope": "target",
		"otelgc.target.pid": int64(7), "otelgc.target.created": created, "otelgc.start": int64(13e8), "otelgc.end": int64(14e8),
	}
}

// paused is a collection with lists of starts, of ends, and of slacks.
func paused(lists ...[]int64) m {
	all := m{"eventName": "otelgc.gc.collection", "otelgc.start": int64(13e8), "otelgc.end": int64(15e8)}
	for i, l := range lists {
		all[[]string{"otelgc.pause.start", "otelgc.pause.end", "otelgc.pause.slack"}[i]] = l
	}
	return all
}

func suspended(until, slack int64) m {
	return m{"eventName": "otelgc.suspension", "otelgc.start": int64(13e8), "otelgc.end": until, "otelgc.slack": slack}
}

// status is what a source says of the time between two instants.
func status(since, at int64, more m) m {
	all := m{
		"eventName": "otelgc.source.status", "otelgc.start": since, "otelgc.end": at, "otelgc.watermark": at,
		"otelgc.wall.offset": int64(wallOffset), "otelgc.wall.error": int64(0),
	}
	maps.Copy(all, more)
	return all
}

// unseen is a status of half a second with lists of what was not seen.
func unseen(starts, ends []int64) m {
	return status(3e9, 35e8, m{"otelgc.unseen.start": starts, "otelgc.unseen.end": ends})
}

// stamped makes the sidecar, behind an agent, send an event.
func stamped(e m) m { return both(e, m{"otelgc.stamp": "sidecar"}) }

// another makes a process of the machine, and not that of the span, send an event.
func another(e m) m { return both(e, m{"process.pid": int64(9)}) }

// off is what its wall clock shows more.
func off(by int64) m { return m{"otelgc.wall.offset": int64(wallOffset) + by} }

// restarted is a collection of .NET whose threads ran again at some time up to most.
func restarted(most int64) m {
	return both(paused([]int64{13e8}, []int64{14e8}), m{"otelgc.source": "dotnet", "otelgc.pause.end_max": []int64{most}})
}

func of(duration, coverage float64, owners map[string]float64) share {
	if owners == nil && duration > 0 {
		owners = map[string]float64{"unseen": duration}
	}
	return share{owners, duration, coverage}
}

var (
	whole   = [2]uint64{ms(1200), ms(1800)}
	taken   = map[string]float64{"host.preempted": 0.1, "unseen": 0.5}
	stopped = map[string]float64{"gc.pause": 0.1, "unseen": 0.5}
	robbed  = m{
		"eventName": "otelgc.jitter.gap", "process.pid": int64(77), "otelgc.source": "probe.spin", "otelgc.cause": "host.steal",
		"otelgc.jitter.scope": "machine", "otelgc.start": int64(13e8), "otelgc.end": int64(14e8),
	}
	born  = m{"process.creation.time": "2026-11-21T10:00:00.25Z"}
	pod   = m{"host.name": "pod"}
	boxed = m{"process.creation.time": "2026-11-21T10:00:00.25Z", "container.id": "abc"}
)

func both(a, b m) m {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// hostile is what senders may send by mistake or on purpose, by what is odd.
var hostile = map[string]sent{
	"span ends at the end of time": {span: [2]uint64{ms(1200), math.MaxUint64}, want: of(0, 0, nil)},
	"span ends before it begins":   {span: [2]uint64{ms(1800), ms(1200)}, events: []m{preempted(0)}, want: of(0, 0, nil)},
	"span never ends":              {span: [2]uint64{ms(1200), 0}, want: of(0, 0, nil)},
	"span of no length":            {span: [2]uint64{ms(1200), ms(1200)}, want: of(0, 1, nil)},
	"nobody watches, no length":    {silent: true, span: [2]uint64{ms(1200), ms(1200)}, want: of(0, 0, nil)},
	"span of more than a week":     {span: [2]uint64{ms(1200), ms(8 * 24 * 3600e3)}, want: of(0, 0, nil)},

	"pause without slack":              {events: []m{paused([]int64{13e8}, []int64{14e8})}, want: of(0.6, 1, stopped)},
	"two slacks, one pause":            {events: []m{paused([]int64{13e8}, []int64{14e8}, []int64{0, 5})}, want: of(0.6, 1, stopped)},
	"two starts, one end":              {events: []m{paused([]int64{13e8, 15e8}, []int64{14e8})}, want: of(0.6, 1, nil)},
	"one start, two ends":              {events: []m{paused([]int64{13e8}, []int64{14e8, 15e8})}, want: of(0.6, 1, nil)},
	"starts alone":                     {events: []m{paused([]int64{13e8})}, want: of(0.6, 1, nil)},
	"second pause ends before":         {events: []m{paused([]int64{13e8, 15e8}, []int64{14e8, 12e8})}, want: of(0.6, 1, nil)},
	"pause of two hours":               {events: []m{paused([]int64{13e8}, []int64{7200e9})}, want: of(0.6, 1, nil)},
	"suspension until the end of time": {events: []m{suspended(math.MaxInt64, 0)}, want: of(0.6, 1, nil)},
	"suspension of any slack":          {events: []m{suspended(14e8, math.MaxInt64)}, want: of(0.6, 1, nil)},

	"status of the end of time":       {events: []m{status(3e9, math.MaxInt64, nil)}, want: of(0.6, 1, nil)},
	"status of another time":          {events: []m{status(3e9, 35e8, m{"otelgc.wall.offset": int64(math.MaxInt64)})}, want: of(0.6, 1, nil)},
	"status that has not seen":        {events: []m{unseen([]int64{13e8}, []int64{145e7})}, want: of(0.6, 0.75, nil)},
	"unseen with two starts, one end": {events: []m{unseen([]int64{13e8, 14e8}, []int64{135e7})}, want: of(0.6, 1, nil)},
	"another's clock is 3 s off":      {events: []m{paused([]int64{13e8}, []int64{14e8}), another(status(0, 15e8, off(3e9))), another(status(15e8, 25e8, off(3e9)))}, want: of(0.6, 1, stopped)},
	"another is ahead":                {events: []m{paused([]int64{13e8}, []int64{14e8}), another(status(0, 3600e9, nil))}, want: of(0.6, 1, stopped)},
	"stop of .NET, end not certain":   {events: []m{restarted(145e7)}, want: of(0.6, 1, map[string]float64{"gc.pause": 0.1, "uncertain": 0.05, "unseen": 0.45})},
	"stop of .NET, end certain":       {events: []m{restarted(0)}, want: of(0.6, 1, stopped)},
	"stop of .NET for hours":          {events: []m{restarted(7200e9)}, want: of(0.6, 1, nil)},
	"record of another machine":       {resource: m{"otelgc.boot.id": "said by the agent"}, events: []m{both(suspended(14e8, 0), m{"otelgc.boot.id": "another"})}, want: of(0.6, 1, map[string]float64{"runtime.suspension": 0.1, "unseen": 0.5})},
	"nobody says which machine":       {nowhere: true, events: []m{robbed}, want: of(0.6, 0, nil)},

	"pid of another birth":                 {resource: born, events: []m{preempted(77731)}, want: of(0.6, 1, nil)},
	"pid of this birth":                    {resource: born, events: []m{preempted(77725)}, want: of(0.6, 1, taken)},
	"pid without a birth":                  {resource: born, events: []m{preempted(0)}, want: of(0.6, 1, taken)},
	"process without a birth":              {events: []m{preempted(77731)}, want: of(0.6, 1, taken)},
	"birth that is none":                   {resource: m{"process.creation.time": "soon"}, events: []m{preempted(77731)}, want: of(0.6, 1, taken)},
	"contained, of this birth":             {resource: boxed, events: []m{preempted(77725)}, want: of(0.6, 1, taken)},
	"contained, of another birth":          {resource: boxed, events: []m{preempted(77731)}, want: of(0.6, 1, nil)},
	"contained, without a birth":           {resource: boxed, events: []m{preempted(0)}, want: of(0.6, 1, nil)},
	"span of another host name":            {resource: pod, says: m{"host.name": "another"}, events: []m{suspended(14e8, 0)}, want: of(0.6, 0, nil)},
	"span of another host id":              {resource: m{"host.id": "a"}, says: m{"host.id": "b"}, events: []m{suspended(14e8, 0)}, want: of(0.6, 0, nil)},
	"span of another service":              {resource: m{"service.name": "a"}, says: m{"service.name": "b"}, want: of(0.6, 0, nil)},
	"service made up":                      {resource: m{"service.name": "unknown_service:go"}, says: m{"service.name": "b"}, want: of(0.6, 1, nil)},
	"another host name, one birth":         {resource: both(pod, born), says: m{"host.name": "another"}, want: of(0.6, 1, nil)},
	"pid that the sidecar has another for": {events: []m{status(3e9, 35e8, m{"otelgc.target.pid": int64(4242)})}, want: of(0.6, 0, nil)},
	"nobody watches, same host name":       {silent: true, resource: pod, events: []m{preempted(0)}, want: of(0.6, 0, taken)},
	"nobody watches, another host name":    {silent: true, resource: pod, says: m{"host.name": "another"}, events: []m{preempted(0)}, want: of(0.6, 0, nil)},
	"nobody watches, pid of another birth": {silent: true, resource: born, events: []m{preempted(77731)}, want: of(0.6, 0, nil)},
	"nobody watches, pid of this birth":    {silent: true, resource: born, events: []m{preempted(77725)}, want: of(0.6, 0, taken)},
}

// liars are what a process may say where only the sidecar is believed of the machine.
var liars = map[string]sent{
	"the sidecar alone":                    {events: []m{stamped(robbed)}, want: of(0.6, 1, map[string]float64{"host.steal": 0.1, "unseen": 0.5})},
	"a gap of the machine":                 {events: []m{another(robbed)}, want: of(0.6, 1, nil)},
	"a gap of the machine, of its own":     {events: []m{both(robbed, m{"process.pid": int64(7)})}, want: of(0.6, 1, map[string]float64{"host.steal": 0.1, "unseen": 0.5})},
	"what the machine did to another":      {events: []m{preempted(0)}, want: of(0.6, 1, nil)},
	"the sidecar, of what it did":          {events: []m{stamped(preempted(0))}, want: of(0.6, 1, taken)},
	"nobody watches, a probe 3 s off":      {silent: true, events: []m{stamped(robbed), another(status(0, 15e8, both(off(3e9), m{"otelgc.source": "probe.spin"})))}, want: of(0.6, 0, map[string]float64{"host.steal": 0.1, "unseen": 0.5})},
	"a probe 3 s off":                      {events: []m{paused([]int64{13e8}, []int64{14e8}), another(status(0, 15e8, both(off(3e9), m{"otelgc.source": "probe.spin"})))}, want: of(0.6, 1, stopped)},
	"all that the sidecar says of another": {silent: true, events: []m{stamped(status(0, 1e9, nil)), stamped(status(1e9, 2e9, nil)), stamped(status(2e9, 3e9, nil)), stamped(paused([]int64{13e8}, []int64{14e8})), status(5e8, 15e8, nil), status(15e8, 25e8, nil), suspended(17e8, 0)}, want: of(0.6, 1, stopped)},
}

// TestLiars: with agents the queries believe of a machine whom the connector believes.
func TestLiars(t *testing.T) {
	dir := t.TempDir()
	names := write(t, dir, liars)
	stamped := attribution.Config{Probes: attribution.ProbesStamped}
	for engine, got := range map[string]map[string]*share{
		"the connector": attributed(t, dir, stamped),
		"DuckDB":        joinBy(t, duckDB, dir, "MACRO agents() AS false", "MACRO agents() AS true").Spans,
		"ClickHouse":    joinBy(t, clickHouse, dir, "false AS agents", "true AS agents").Spans,
	} {
		for id, name := range names {
			want := liars[name].want
			if g := got[id]; g == nil || apart(g, &want) > within {
				t.Errorf("%s: %s says %+v, want %+v", name, engine, g, want)
			}
		}
	}
}

// TestHostile: what one sender got wrong breaks no query, and is taken as the
// connector takes it.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	names := write(t, dir, hostile)
	for engine, got := range map[string]map[string]*share{
		"the connector": attributed(t, dir, attribution.Config{}), "DuckDB": join(t, duckDB, dir).Spans, "ClickHouse": join(t, clickHouse, dir).Spans,
	} {
		for id, name := range names {
			want := hostile[name].want
			switch g := got[id]; {
			case g == nil:
				t.Errorf("%s: %s has no such span", name, engine)
			case g.Duration != want.Duration && engine != "the connector" || apart(g, &want) > within || math.Abs(g.Coverage-want.Coverage) > 1e-9:
				t.Errorf("%s: %s says %+v, want %+v", name, engine, *g, want)
			}
		}
	}
}
