package target

import (
	"strconv"

	"github.com/otelgc/otelgc/internal/recording"
)

const unknown = "unknown"

// maxSetting bounds a setting that is repeated as it is written.
const maxSetting = 64

// runtimeLine returns the facts of recording.RuntimeFacts, as far as the
// environment and the threads of a process tell them. What the program's
// runtimeconfig.json says is in neither, so what nobody set is unknown, and not
// the runtime's default. A nil threads is not known.
func runtimeLine(version string, env map[string]string, threads []thread) map[string]string {
	facts := make(map[string]string)
	for _, name := range recording.RuntimeFacts["dotnet"] {
		facts[name] = unknown
	}
	if version != "" {
		facts["version"] = version
	}
	facts["concurrent"] = toggled(env, "gcConcurrent", count(threads, backgroundThread) > 0)
	facts["tiering"] = toggled(env, "TieredCompilation", count(threads, tieringThread) > 0)
	if name := setting(env, "GCName"); name != "" {
		facts["heap layout"] = "of " + name
	}
	heaps := count(threads, serverThread)
	switch {
	case len(threads) == 0:
	case heaps == 0:
		// Its heap is collected by who needs it, on no CPU of its own.
		facts["flavor"], facts["heap count"], facts["affinity"], facts["DATAS"] = "Workstation", "1", "none", "off"
	default:
		facts["flavor"] = "Server"
		serverFacts(facts, env, heaps)
	}
	return facts
}

// serverFacts adds those of server GC. It has a thread for each heap, but with
// DATAS, which changes their number as it goes.
func serverFacts(facts, env map[string]string, heaps int) {
	fixed := setting(env, "GCHeapCount") != ""
	switch mode := setting(env, "GCDynamicAdaptationMode"); {
	case mode == "0":
		facts["DATAS"], fixed = "off", true
	case mode != "":
		facts["DATAS"] = mode
	}
	if fixed {
		facts["heap count"] = strconv.Itoa(heaps)
	}
	for _, name := range []string{"GCNoAffinitize", "GCHeapAffinitizeMask", "GCHeapAffinitizeRanges"} {
		if value := setting(env, name); value != "" {
			facts["affinity"] = name + "=" + value
			return
		}
	}
}

// toggled returns on or off by a setting, else on if there is a trace of it.
func toggled(env map[string]string, name string, trace bool) string {
	switch value := setting(env, name); {
	case trace || value == "1":
		return "on"
	case value == "0":
		return "off"
	}
	return unknown
}

// setting returns what the environment sets, empty for nothing: it goes before
// runtimeconfig.json, and DOTNET_ before COMPlus_ (runtime, clrconfignative).
func setting(env map[string]string, name string) string {
	for _, prefix := range []string{"DOTNET_", "COMPlus_"} {
		if value := env[prefix+name]; value != "" && len(value) <= maxSetting {
			return value
		}
	}
	return ""
}
