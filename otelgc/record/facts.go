package record

import (
	"cmp"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/internal/recording"
)

// facts are the settings of this runtime as they are now, by the names of
// recording.RuntimeFacts.
func facts() map[string]string {
	limits := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(limits)
	release, experiment, _ := strings.Cut(runtime.Version(), " X:") // "go1.26.8 X:nodwarf5"
	built := new(goprogram.Program)
	if info, ok := debug.ReadBuildInfo(); ok {
		built = goprogram.Built(info)
	}
	facts := map[string]string{
		"version":      release,
		"GOGC":         limit(limits[0].Value, math.MaxUint64),
		"GOMEMLIMIT":   limit(limits[1].Value, math.MaxInt64),
		"GOMAXPROCS":   strconv.Itoa(runtime.GOMAXPROCS(0)),
		"GODEBUG":      godebug(os.Getenv("GODEBUG"), built.Settings["DefaultGODEBUG"]),
		"GOEXPERIMENT": cmp.Or(built.Experiment, experiment, "none"),
	}
	if build := built.Build(); build != "" {
		facts[recording.FactBuild] = build
	}
	return facts
}

// limit writes a limit of the collector; none is the highest value.
func limit(v metrics.Value, none uint64) string {
	switch {
	case v.Kind() != metrics.KindUint64:
		return "unknown: this runtime does not tell"
	case v.Uint64() >= none:
		return "off"
	}
	return strconv.FormatUint(v.Uint64(), 10)
}

// godebug joins what the environment says and what the program was built with.
func godebug(environment, built string) string {
	if built == "" {
		return cmp.Or(environment, "none")
	}
	if environment != "" {
		environment += ", "
	}
	return environment + built + " (built in)"
}
