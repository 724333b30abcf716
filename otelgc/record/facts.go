package record

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// facts are the settings of this runtime as they are now, by the names of
// recording.RuntimeFacts.
func facts() map[string]string {
	limits := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(limits)
	release, experiment, _ := strings.Cut(runtime.Version(), " X:") // "go1.26.8 X:nodwarf5"
	built := settings()
	if e := built["GOEXPERIMENT"]; e != "" {
		experiment = e
	}
	return map[string]string{
		"version":      release,
		"GOGC":         limit(limits[0].Value, math.MaxUint64),
		"GOMEMLIMIT":   limit(limits[1].Value, math.MaxInt64),
		"GOMAXPROCS":   strconv.Itoa(runtime.GOMAXPROCS(0)),
		"GODEBUG":      godebug(os.Getenv("GODEBUG"), built["DefaultGODEBUG"]),
		"GOEXPERIMENT": orNone(experiment),
	}
}

// settings are those that the program was built with.
func settings() map[string]string {
	built := make(map[string]string)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			built[s.Key] = s.Value
		}
	}
	return built
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
	switch {
	case built == "":
		return orNone(environment)
	case environment == "":
		return built + " (built in)"
	}
	return environment + ", " + built + " (built in)"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
