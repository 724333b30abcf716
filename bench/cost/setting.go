package cost

import (
	"fmt"
	"slices"
	"strings"
)

// shape is a kind of service.
type shape struct {
	name  string
	words string
	kind  string // the kind of its binary: http or grpc
	live  int    // MB of long-lived heap
	gogc  string // $GOGC
	full  bool   // it gets as many requests as it answers
}

func shapes(live int) []shape {
	return []shape{
		{name: "http", kind: "http", live: 16, words: "A service of net/http and encoding/json, 16 MB of long-lived heap"},
		{name: "grpc", kind: "grpc", live: 16, words: "A service of gRPC, with the same JSON as its messages, 16 MB of long-lived heap. otelgc and otelgrpc watch it by a stats.Handler: for any such handler gRPC makes some 18 allocations more in each call, and that of otelgc makes one (BenchmarkCall of otelgc/gcgrpc)"},
		{name: "heap", kind: "http", live: live, gogc: "25", words: "A service of net/http and encoding/json with a large long-lived heap, and GOGC=25, so that a window holds some collections"},
		{name: "saturated", kind: "http", live: 16, full: true, words: "The service of http, with as many requests as it answers"},
	}
}

// Names of settings that the page speaks of.
const (
	nothing  = "nothing"
	standard = "default"
	alwaysOn = "trace"
)

// setting is something that watches a service.
type setting struct {
	name, label string
	knows       string // what it can answer about one slow request
	tags        string // of the binary
	watcher     string // in it
	env         []string
	against     string // the setting that it is compared with; empty: nothing
	sidecar     func(pid, url string) []string
	// whole has its window hold whole cycles of tracing and rest.
	whole   bool
	spans   int    // CPU is measured so many times as long as that of others; 0: once
	many    bool   // it has more pairs in the first shape
	mayFail bool   // this machine may lack what it needs
	shapes  string // in which it is measured
}

var all = []setting{
	{name: nothing, label: "nothing (the check of the method)", knows: "nothing", many: true, shapes: "http grpc heap saturated"},
	{name: standard, label: "otelgc, default budget", tags: "otelgc", watcher: "otelgc", whole: true, many: true, shapes: "http grpc heap saturated",
		knows: "who had its time, piece by piece, if it ran in a slice (a tenth of the time); else which collections it overlapped, as a bound"},
	{name: "off", label: "otelgc, no exact tracing (budget 0)", tags: "otelgc", watcher: "otelgc", env: []string{"OTELGC_EXACT_BUDGET=0"}, shapes: "http",
		knows: "which collections it overlapped, as a bound"},
	{name: "exact", label: "otelgc, always exact (budget 1)", tags: "otelgc", watcher: "otelgc", env: []string{"OTELGC_EXACT_BUDGET=1"}, shapes: "http grpc heap",
		knows: "who had its time, piece by piece"},
	{name: "otel", label: "otelhttp or otelgrpc, with spans and metrics", tags: "otel", watcher: "otel", shapes: "http grpc heap",
		knows: "that it was slow, and in which call; not why"},
	{name: "both", label: "otelgc, default budget, beside otelhttp or otelgrpc, against these", tags: "otel otelgc", watcher: "both", against: "otel", whole: true, shapes: "http grpc",
		knows: "as otelgc alone, with its trace id"},
	{name: "metrics", label: "`contrib/instrumentation/runtime`", tags: "metrics", watcher: "metrics", shapes: "http grpc heap",
		knows: "nothing about one request: how long pauses were meanwhile"},
	{name: "probes", label: "sidecar, door one (`--target`)", shapes: "http grpc heap", mayFail: true,
		sidecar: func(pid, _ string) []string { return []string{"--target", pid} },
		knows:   "which stops of the world it overlapped, if a Collector has its span"},
	{name: "pull", label: "sidecar, door two (`--pprof`), against otelhttp", tags: "otel pprof", watcher: "otel", against: "otel", whole: true, shapes: "http heap",
		sidecar: func(pid, url string) []string { return []string{"--target", pid, "--pprof", url} },
		knows:   "who had its time, piece by piece, if a slice shows the whole of it (a tenth of the time)"},
	{name: alwaysOn, label: "an execution trace, always on, dropped", watcher: "trace", many: true, shapes: "http grpc heap",
		knows: "all, by hand, for who keeps the trace"},
	{name: "recorder", label: "the flight recorder (`runtime/trace`)", watcher: "recorder", shapes: "http",
		knows: "all, by hand, for who notices in seconds and takes the snapshot"},
	// Its first execution trace would be in the window, and the next one a quarter of an
	// hour later. It uploads once a minute.
	{name: "datadog", label: "dd-trace-go's profiler, CPU and heap, no execution traces", env: []string{"DD_PROFILING_EXECUTION_TRACE_ENABLED=false"}, spans: 4, shapes: "http", mayFail: true,
		knows: "nothing about one request: where CPU time and memory went meanwhile"},
}

// find returns a setting by its name.
func find(name string) *setting {
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

// in reports whether v is measured in a shape.
func (v *setting) in(s *shape) bool { return strings.Contains(" "+v.shapes+" ", " "+s.name+" ") }

// base returns what v is compared with: the same binary where only a sidecar is added.
func (v *setting) base() *setting {
	if v.against == "" {
		return find(nothing)
	}
	b := *find(v.against)
	b.tags = v.tags
	return &b
}

// known returns an error if a list names a shape or a setting that is none.
func (e *cost) known() error {
	if e.only == "" {
		return nil
	}
	for name := range strings.SplitSeq(e.only, ",") {
		of, setting, found := strings.Cut(name, "/")
		i := slices.IndexFunc(shapes(0), func(s shape) bool { return s.name == of })
		if i < 0 || found && (find(setting) == nil || !find(setting).in(&shapes(0)[i])) {
			return fmt.Errorf("flag -only: %q is no SHAPE and no SHAPE/SETTING", name)
		}
	}
	return nil
}

// wanted reports whether a list such as "http,grpc/default" names v in a shape. The empty
// list names all.
func (v *setting) wanted(s *shape, list string) bool {
	for name := range strings.SplitSeq(list, ",") {
		if name == "" || name == s.name || name == s.name+"/"+v.name {
			return true
		}
	}
	return false
}
