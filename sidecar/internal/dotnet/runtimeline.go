package dotnet

import (
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/internal/recording"
)

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
	// empty for none, and nil if nobody may look.
	module *string
}

// runtimeLine returns the facts of recording.RuntimeFacts, as far as they can be
// told. What nobody set is unknown, and not the runtime's default, unless there
// is no other place to set it. The latency mode is the program's to change: each
// collection tells it.
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
		// Its heap is collected by who needs it, on no CPU of its own.
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
	return unknown + ": nobody set DOTNET_" + name
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
