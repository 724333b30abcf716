// Package page shows what a run of the sidecar sees in a browser, live: the gaps of the
// machine, each process that it is attached to, and what was not seen or lost. data.json
// beside it has the same for programs.
//
// It keeps what it shows, and no more: of the last five minutes the longest of each half
// second, and of the last quarter of an hour the longest of each minute. That costs one or
// two microseconds for each gap and each collection, and 100 to 200 KiB for each process that
// stops all the time; while a page is open, an update every two seconds costs some 10 ms
// (BenchmarkRecord, BenchmarkSections).
package page

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/livepage"
	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/target"
	"github.com/otelgc/otelgc/stall"
)

const (
	// keptGaps is how many of the longest gaps of a minute are kept.
	keptGaps = 10
	// maxProcesses bounds the processes that are kept, those that have ended among them,
	// and maxWaiting those that wait for a place.
	maxProcesses = 128
	maxWaiting   = 64
	// keptFor is how long a process that has ended stays.
	keptFor = 15 * time.Minute
	// waitsFor is how long after it was last said to wait a process is shown to.
	waitsFor = 2 * time.Minute
)

// Options configure a Page.
type Options struct {
	Clock stall.Clock
	// Losses returns what was not kept of the telemetry, by item and reason, and
	// Unexported what never reached a Collector so far, nil for nothing.
	Losses     func() map[[2]string]uint64
	Unexported func() *otelenv.Unexported
	// Every is the time between two updates, that of package livepage if zero.
	Every time.Duration
}

// Machine is what is known of the probes.
type Machine struct {
	Probes  []Probe
	AllCPUs bool // every CPU that is online has a probe
	// Board is its path, empty for none, and Note why there is none.
	Board, Note string
}

// Probe is a probe, and what it has seen.
type Probe struct {
	Mode      string
	CPU       int // -1 if it is not pinned
	Threshold time.Duration
	Note      string
	Limits    []string // causes that it cannot decide
	jitterprobe.Snapshot
}

// Page is the page of one run. It is an [http.Handler]. A nil Page takes in what it is
// given, and keeps nothing. Its methods are for any goroutine, and do not wait for one who
// has the page drawn.
type Page struct {
	*livepage.Page
	o     Options
	since stall.Instant // when it was made

	mu        sync.Mutex
	machine   Machine
	gaps      recent[strip.Pause]
	longest   worst[jitterprobe.Gap]
	host      *recording.Host // what the machine did to the target, nil for no target
	processes map[int]*process
	waiting   map[int]*process // for a place, by PID
	left      uint64           // processes for which there was no room
}

// New returns a page of nothing.
func New(o Options) *Page {
	p := &Page{
		o: o, since: o.Clock.Now(), longest: worst[jitterprobe.Gap]{each: keptGaps},
		processes: make(map[int]*process), waiting: make(map[int]*process),
	}
	p.Page = &livepage.Page{
		Title: "otelgc-sidecar", Lead: strip.Legend(strip.GC, strip.Runtime, strip.Host, strip.App), IDs: sectionIDs, Sections: p.sections,
		Document: func() any { return p.document() }, Items: "process", Item: p.serveProcess, Every: o.Every,
	}
	return p
}

// Watched says how far the probes have seen.
func (p *Page) Watched(m Machine) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machine = m
}

// Gap takes in a gap.
func (p *Page) Gap(g jitterprobe.Gap) {
	if p == nil {
		return
	}
	name := fmt.Sprintf("%s, scope %s", g.Cause, g.Scope)
	if g.CPU >= 0 {
		name += fmt.Sprintf(", seen on CPU %d", g.CPU)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps.add(g.Start, int64(g.Duration()), strip.Pause{Span: g.Span(), Name: name, Cause: g.Cause})
	p.longest.add(g.End, g.Duration(), g)
}

// Record takes in what a recording would keep: collections, stops, what the machine did.
func (p *Page) Record(r recording.Record) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch v := r.(type) {
	case recording.Host:
		p.host = &v
	case recording.Target:
		if one := p.process(v.ID); one != nil {
			one.target = v
		}
	case recording.Collection:
		if one := p.process(v.Target); one != nil {
			one.collection(&v.Collection)
		}
	case recording.Suspension:
		if one := p.process(v.Target); one != nil {
			one.suspension(&v)
		}
	}
}

// Progress takes in how far a process was watched.
func (p *Page) Progress(v target.Progress) {
	if p == nil {
		return
	}
	now := p.o.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	if v.ID == 0 {
		if one := p.waiting[v.PID]; one != nil || len(p.waiting) < maxWaiting {
			p.waiting[v.PID] = &process{Progress: v, told: now}
		}
		return
	}
	one := p.process(v.ID)
	if one == nil {
		return
	}
	delete(p.waiting, v.PID)
	if one.Progress, one.told = v, now; v.Over {
		one.ended = now
	}
}

// process returns a process by its ID, which it makes if it is new; nil if there is no
// room: then the one that ended first makes room, if one has. The mutex is held.
func (p *Page) process(id int) *process {
	if one := p.processes[id]; one != nil {
		return one
	}
	if id <= 0 {
		return nil
	}
	if len(p.processes) >= maxProcesses {
		oldest := 0
		for id, one := range p.processes {
			if one.ended > 0 && (oldest == 0 || one.ended < p.processes[oldest].ended) {
				oldest = id
			}
		}
		if oldest == 0 {
			return nil
		}
		p.left++
		delete(p.processes, oldest)
	}
	one := newProcess()
	one.ID, one.told = id, p.o.Clock.Now()
	p.processes[id] = one
	return one
}

// forget forgets the processes that ended long ago, and what is drawn no longer. The mutex is held.
func (p *Page) forget(now stall.Instant) {
	for id, one := range p.processes {
		if one.ended > 0 && now.Sub(one.ended) > keptFor {
			delete(p.processes, id)
		}
		one.pauses.forget(now.Add(-drawnFor - slotLength))
		one.heaps.forget(now.Add(-drawnFor - slotLength))
	}
	for pid, one := range p.waiting {
		if now.Sub(one.told) > waitsFor {
			delete(p.waiting, pid)
		}
	}
}

// sorted returns the processes, those that have not ended first, then by ID. The mutex is
// held.
func sorted(all map[int]*process) []*process {
	list := make([]*process, 0, len(all))
	for _, one := range all {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b *process) int {
		return cmp.Or(cmp.Compare(min(a.ended, 1), min(b.ended, 1)), cmp.Compare(b.ended, a.ended), cmp.Compare(a.ID, b.ID), cmp.Compare(a.PID, b.PID))
	})
	return list
}

// view is what is drawn, as of one instant. It shares nothing with the page that changes.
type view struct {
	now, since stall.Instant
	machine    Machine
	gaps       []slot[strip.Pause]
	longest    []*jitterprobe.Gap
	host       *recording.Host
	processes  []*process
	waiting    []*process
	left       uint64
	lead       string
}

// view returns what is known now. Of the processes that drawn picks it has the drawings,
// too.
func (p *Page) view(drawn func([]*process) []*process) *view {
	now := p.o.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	v := &view{
		now: now, since: p.since, machine: p.machine, gaps: slices.Clone(p.gaps.slots), longest: p.longest.longest(now), host: p.host,
		processes: sorted(p.processes), waiting: sorted(p.waiting), left: p.left, lead: p.Lead,
	}
	var all []*process
	if drawn != nil {
		all = drawn(v.processes)
	}
	for i, one := range v.processes {
		v.processes[i] = one.copy(now, slices.Contains(all, one))
	}
	for i, one := range v.waiting {
		v.waiting[i] = one.copy(now, false)
	}
	return v
}

// serveProcess serves the page of one process.
func (p *Page) serveProcess(w http.ResponseWriter, name string) {
	id, err := strconv.Atoi(name)
	found := func(list []*process) []*process {
		return slices.DeleteFunc(slices.Clone(list), func(one *process) bool { return one.ID != id })
	}
	v := p.view(found)
	one := found(v.processes)
	if err != nil || len(one) == 0 {
		http.Error(w, "no such process is kept: it may have ended more than a quarter of an hour ago", http.StatusNotFound)
		return
	}
	livepage.ServeItem(w, "otelgc-sidecar: a process", v.processPage(one[0]))
}
