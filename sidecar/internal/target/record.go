package target

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// recorder records what is seen of one process.
type recorder struct {
	add    func(recording.Record) // nil: nothing is recorded
	id     int
	said   recording.Target // as it was recorded last
	unseen time.Duration    // as it was recorded last
	mark   stall.Instant    // as it was recorded last
}

// target says which process it is, if that is news.
func (t *recorder) target(v recording.Target) {
	if t.add == nil || v.Runtime == t.said.Runtime && v.Unwatched == t.said.Unwatched && maps.Equal(v.Facts, t.said.Facts) {
		return
	}
	t.said = v
	t.add(v)
}

// configuration finds out how the runtime of the process is configured.
func (p *process) configuration(ctx context.Context, env map[string]string, info dotnetipc.ProcessInfo) *configuration {
	c := &configuration{version: info.Version, arch: info.Arch, env: env}
	if p.ID.PID == 0 {
		return c
	}
	threads, whole, err := threadsOf(p.proc, p.ID.PID)
	if err == nil && !whole {
		err = errSomeThreads
	}
	if err != nil {
		p.log.Info("the runtime line of the process lacks what its threads say", "error", err)
	} else {
		c.threads = threads
	}
	if c.config, err = p.proc.RuntimeConfig(ctx, p.ID.PID); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.Info("the runtime line of the process lacks what its runtimeconfig.json says", "error", err)
	}
	if name, ok := gcModule(ctx, p.proc, p.ID.PID); ok {
		c.module = &name
	}
	return c
}

// factLatency is the fact that only collections have.
const (
	factLatency = "latency mode"
	then        = ", then "
)

// latency says in which mode a collection found the process: one after the
// other, where the program changes it.
func (t *recorder) latency(mode gc.Maybe[dotnetgc.PauseMode]) {
	m, known := mode.Get()
	if t.add == nil || !known {
		return
	}
	said, text := t.said.Facts[factLatency], m.String()
	if slices.Contains(strings.Split(said, then), text) {
		return
	}
	if said != unknown {
		text = said + then + text
	}
	t.learn(factLatency, text)
}

// factConcurrent is the fact that a background collection proves.
const factConcurrent = "concurrent"

func (t *recorder) collection(c *gc.Collection) {
	if t.add == nil {
		return
	}
	if c.Kind == gc.Background && strings.HasPrefix(t.said.Facts[factConcurrent], unknown) {
		t.learn(factConcurrent, "on")
	}
	t.add(recording.Collection{Target: t.id, Collection: *c})
}

// learn records the process anew, with what has become known.
func (t *recorder) learn(fact, value string) {
	t.said.Facts = maps.Clone(t.said.Facts)
	t.said.Facts[fact] = value
	t.add(t.said)
}

func (t *recorder) suspension(s recording.Suspension) {
	if t.add != nil {
		s.Target = t.id
		t.add(s)
	}
}

// status says how far the process was seen. The last one repeats what was not
// seen up to the one before: what the end itself cuts off, a collection that goes
// on, or what a killed process did not hand over, is beyond what was watched.
func (t *recorder) status(origin stall.Origin, now, mark stall.Instant, lost uint64, unseen time.Duration, last bool) {
	if t.add == nil {
		return
	}
	if last {
		mark = max(t.mark, mark.Add(t.unseen-unseen))
	} else {
		t.unseen = unseen
	}
	t.mark = mark
	t.add(recording.Status{Source: origin.String(), Target: t.id, At: now, Watermark: mark, Dropped: lost, Unseen: t.unseen})
}

const unknown = "unknown"

// maxSetting bounds a setting that is repeated as it is written.
const maxSetting = 64

// configuration is what is known of how a runtime is configured. What is nil is not known.
type configuration struct {
	version, arch string
	env           map[string]string // goes before config
	config        map[string]string // of the program's runtimeconfig.json
	threads       []proc.Stat
	// module is the collector that was loaded instead of the runtime's own;
	// empty for none, and nil if that is not known.
	module *string
}

// runtimeLine returns the facts of recording.RuntimeFacts, as far as they can be
// known. What is not set is unknown, and not the runtime's default, unless there
// is no other place to set it. The program may change the latency mode: each
// collection has it.
func runtimeLine(c *configuration) map[string]string {
	facts := make(map[string]string)
	for _, name := range recording.RuntimeFacts["dotnet"] {
		facts[name] = unknown
	}
	if c.version != "" {
		facts["version"] = c.version
	}
	facts["concurrent"] = c.toggled("gcConcurrent", count(c.threads, backgroundThread) > 0)
	facts["tiering"] = c.toggled("TieredCompilation", count(c.threads, tieringThread) > 0)
	if layout := c.layout(); layout != "" {
		facts["heap layout"] = layout
	}
	if c.env != nil {
		// Only the environment has it (runtime, clrconfigvalues.h).
		facts["ReadyToRun"] = "on"
		if c.setting("ReadyToRun") == "0" {
			facts["ReadyToRun"] = "off"
		}
	}
	heaps := count(c.threads, serverThread)
	switch {
	case len(c.threads) == 0:
	case heaps == 0:
		// Its heap is collected by the thread that needs it, on no CPU of its own.
		facts["flavor"], facts["heap count"], facts["affinity"], facts["DATAS"] = "Workstation", "1", "none", "off"
	default:
		facts["flavor"] = "Server"
		c.serverFacts(facts, heaps)
	}
	return facts
}

// layout says how the heap is divided: the runtime's own collector has regions
// on 64-bit Linux since .NET 7 (runtime, src/coreclr/gc/gcpriv.h).
func (c *configuration) layout() string {
	if name := c.setting("GCName"); name != "" {
		return "of " + name
	}
	if c.module == nil {
		return ""
	}
	if *c.module != "" {
		return "of " + *c.module
	}
	major, err := strconv.Atoi(strings.SplitN(c.version, ".", 2)[0])
	switch {
	case err != nil:
		return ""
	case major >= 7 && (c.arch == "x64" || c.arch == "arm64"):
		return "regions"
	case major < 7:
		return "segments"
	}
	return ""
}

// serverFacts adds those of server GC. It has a thread for each heap, but with
// DATAS, which changes their number as it goes.
func (c *configuration) serverFacts(facts map[string]string, heaps int) {
	fixed := c.setting("GCHeapCount") != ""
	switch mode := c.setting("GCDynamicAdaptationMode"); {
	case mode == "0":
		facts["DATAS"], fixed = "off", true
	case mode != "":
		facts["DATAS"] = mode
	}
	if fixed {
		facts["heap count"] = strconv.Itoa(heaps)
	}
	for _, name := range []string{"GCNoAffinitize", "GCHeapAffinitizeMask", "GCHeapAffinitizeRanges"} {
		if value := c.setting(name); value != "" {
			facts["affinity"] = name + "=" + value
			return
		}
	}
}

// toggled returns on or off by a setting, else on if there is a trace of it.
func (c *configuration) toggled(name string, trace bool) string {
	switch value := c.setting(name); {
	case trace || value == "1":
		return "on"
	case value == "0":
		return "off"
	}
	if c.env == nil {
		return unknown + ": its environment may not be read"
	}
	return unknown + ": DOTNET_" + name + " is not set"
}

// setting returns what the environment sets, else runtimeconfig.json, empty for
// nothing. DOTNET_ goes before COMPlus_ (runtime, clrconfignative). On and off
// are 1 and 0.
func (c *configuration) setting(name string) string {
	for _, prefix := range []string{"DOTNET_", "COMPlus_"} {
		if value := c.env[prefix+name]; value != "" && len(value) <= maxSetting {
			return value
		}
	}
	public := "System.Runtime." + name
	if len(name) > 2 && strings.EqualFold(name[:2], "gc") {
		public = "System.GC." + name[2:]
	}
	switch value := c.config[public]; strings.ToLower(value) {
	case "true":
		return "1"
	case "false":
		return "0"
	default:
		return value
	}
}
