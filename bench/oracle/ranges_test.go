package oracle

import (
	"strings"

	"golang.org/x/exp/trace"
)

type rangeKey struct {
	name  string
	scope trace.ResourceID
}

type openRange struct {
	start edge
	g     trace.GoID
}

func (r *reader) begin(ev *trace.Event) {
	k := rangeKey{ev.Range().Name, ev.Range().Scope}
	if _, on := r.ranges[k]; on {
		return // a generation begins and says how things are
	}
	o := openRange{start: r.now, g: ev.Goroutine()}
	if k.scope.Kind == trace.ResourceGoroutine {
		o.g = k.scope.Goroutine()
	}
	if strings.HasPrefix(k.name, stopPrefix) {
		r.procs.stop(ev.Proc())
	}
	r.ranges[k] = o
}

func (r *reader) end(ev *trace.Event) {
	k := rangeKey{ev.Range().Name, ev.Range().Scope}
	if o, on := r.ranges[k]; on {
		delete(r.ranges, k)
		r.keep(k.name, o)
	}
}

func (r *reader) keep(name string, o openRange) {
	s := stretch{start: o.start, end: r.now}
	if name == "GC concurrent mark phase" {
		r.procs.collected = true
		r.procs.again = edge{}
		r.cycles = append(r.cycles, s)
	}
	if reason, stop := strings.CutPrefix(name, stopPrefix); stop {
		if r.procs.again.at != 0 {
			s.end = r.procs.again
		}
		s.reason, s.by = strings.TrimSuffix(reason, ")"), o.g
		r.stops = append(r.stops, s)
		return
	}
	switch name {
	case "GC mark assist":
		r.assists[o.g] = append(r.assists[o.g], s)
	case "GC incremental sweep":
		r.sweeps[o.g] = append(r.sweeps[o.g], s)
	}
}
