package page

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/gaps"
	"github.com/otelgc/otelgc/sidecar/internal/target"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// schema names data.json.
const schema = "otelgc.sidecar.page/1"

// document is data.json. Durations are nanoseconds, instants those of CLOCK_MONOTONIC.
type document struct {
	Schema  string          `json:"schema"`
	At      stall.Instant   `json:"at"`
	Since   stall.Instant   `json:"since"` // the page knows of nothing before
	Probes  []documentProbe `json:"probes"`
	AllCPUs bool            `json:"all_cpus"` // every CPU that is online has a probe
	Board   string          `json:"board,omitempty"`
	// Gaps are the longest of the last quarter of an hour, the longest first.
	Gaps      []gaps.Gap        `json:"gaps"`
	Target    *recording.Host   `json:"target_host,omitempty"`
	Processes []documentProcess `json:"processes"`
	// Waiting processes are not watched: there are too many.
	Waiting []target.Summary `json:"waiting,omitempty"`
	// Left is how many processes that had ended are not listed.
	Left       uint64              `json:"left_out,omitempty"`
	Lost       []loss              `json:"lost"`
	Unexported *otelenv.Unexported `json:"not_exported,omitempty"`
}

type documentProbe struct {
	Mode        string        `json:"mode"`
	Note        string        `json:"note,omitempty"`
	CPU         *int          `json:"cpu,omitempty"` // absent if the probe is not pinned
	Threshold   time.Duration `json:"threshold"`
	Start       stall.Instant `json:"start"`
	Watermark   stall.Instant `json:"watermark"`
	Duration    time.Duration `json:"duration"`
	Covered     float64       `json:"covered"`
	Dropped     uint64        `json:"dropped"`
	DroppedTime time.Duration `json:"dropped_time,omitempty"`
	Total       uint64        `json:"total"` // gaps
	GapTime     time.Duration `json:"gap_time"`
	Max         time.Duration `json:"max"`
	Limits      []string      `json:"limits,omitempty"`
	// Causes are of all gaps since the start.
	Causes map[stall.Cause]gaps.Cause `json:"causes,omitempty"`
}

type documentProcess struct {
	ID int `json:"id"`
	target.Summary
	Facts map[string]string `json:"facts,omitempty"`
	Ended stall.Instant     `json:"ended,omitempty"` // absent while it is watched, or tried
	// Longest are the longest pauses of the last quarter of an hour, the longest first.
	Longest []documentPause `json:"longest"`
}

type documentPause struct {
	stall.Span
	Cause      stall.Cause             `json:"cause"`
	Collection uint64                  `json:"collection,omitempty"` // its index
	Name       string                  `json:"name"`
	Why        string                  `json:"why,omitempty"`
	CPUWait    gc.Maybe[time.Duration] `json:"cpu_wait,omitzero"`
	PageWait   gc.Maybe[time.Duration] `json:"page_wait,omitzero"`
}

func (p *Page) unexported() *otelenv.Unexported {
	if p.o.Unexported == nil {
		return nil
	}
	return p.o.Unexported()
}

func (p *Page) document() *document {
	v := p.view(nil)
	d := &document{
		Schema: schema, At: v.now, Since: v.since, Probes: []documentProbe{}, AllCPUs: v.machine.AllCPUs, Board: v.machine.Board,
		Gaps: []gaps.Gap{}, Target: v.host, Processes: []documentProcess{}, Left: v.left, Lost: p.lossList(), Unexported: p.unexported(),
	}
	for i := range v.machine.Probes {
		d.Probes = append(d.Probes, documentOf(&v.machine.Probes[i]))
	}
	for _, g := range v.longest {
		one := gaps.Gap{Span: g.Span(), Cause: g.Cause, Scope: g.Scope, Evidence: printable(g.Evidence.String(), maxCommand)}
		if g.CPU >= 0 {
			one.CPU = &g.CPU
		}
		d.Gaps = append(d.Gaps, one)
	}
	for _, one := range v.processes {
		process := documentProcess{ID: one.ID, Summary: one.Summary, Facts: one.target.Facts, Ended: one.ended, Longest: []documentPause{}}
		process.CommandLine = printable(one.CommandLine, maxCommand)
		for _, s := range one.shown {
			process.Longest = append(process.Longest, documentPause{s.Span(), s.Cause, s.Ref, s.name, s.why, s.cpuWait, s.pageWait})
		}
		d.Processes = append(d.Processes, process)
	}
	for _, one := range v.waiting {
		d.Waiting = append(d.Waiting, one.Summary)
	}
	return d
}

func documentOf(v *Probe) documentProbe {
	d := documentProbe{
		Mode: v.Mode, Note: v.Note, Threshold: v.Threshold, Start: v.Start, Watermark: v.Watermark, Duration: v.Observed(), Covered: v.Covered(),
		Dropped: v.Dropped, DroppedTime: v.DroppedTime, Total: v.Gaps, GapTime: v.GapTime, Max: max(v.Longest.Duration(), v.DroppedMax),
		Limits: slices.Clone(v.Limits), Causes: map[stall.Cause]gaps.Cause{},
	}
	if v.CPU >= 0 {
		cpu := v.CPU
		d.CPU = &cpu
	}
	for c, t := range v.Causes {
		if t.N > 0 {
			d.Causes[stall.Cause(c)] = gaps.Cause{Gaps: t.N, Time: t.Time}
		}
	}
	return d
}
