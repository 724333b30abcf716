package gouprobe

import (
	"fmt"
	"go/version"
	"strings"

	"github.com/otelgc/otelgc/stall/gc"
)

// release is what differs between the releases of Go.
type release struct {
	// stopping says that worldStop has when all goroutines were stopped (runtime/proc.go).
	stopping bool
	// module says that the text's start is in the section .go.module, and no longer in
	// the head of pclntab.
	module bool
}

// releases are those whose runtime was read and tried. The arguments of
// startTheWorldWithSema and the reasons are the same in all of them.
var releases = map[string]release{
	"go1.22": {},
	"go1.23": {stopping: true},
	"go1.24": {stopping: true},
	"go1.25": {stopping: true},
	"go1.26": {stopping: true, module: true},
}

// findRelease returns what is known of a version such as go1.26.1.
func findRelease(v string) (release, error) {
	word, _, _ := strings.Cut(v, " ")
	word, _, _ = strings.Cut(word, "-") // go1.24.4-vendor
	r, ok := releases[version.Lang(word)]
	if !ok {
		const most = 40
		return release{}, fmt.Errorf("built with %.*q: the stops of Go 1.22 to 1.26 are known (a newer otelgc-sidecar may know more)", most, v)
	}
	return r, nil
}

// The reasons of the runtime that begin and end a collection (runtime/proc.go, stwReason).
const (
	markTermination  = 1
	sweepTermination = 2
)

// reasons are the runtime's names (runtime/proc.go, stwReasonStrings).
var reasons = [...]string{
	0:                "unknown",
	markTermination:  "GC mark termination",
	sweepTermination: "GC sweep termination",
	3:                "write heap dump",
	4:                "goroutine profile",
	5:                "goroutine profile cleanup",
	6:                "all goroutines stack trace",
	7:                "read mem stats",
	8:                "AllThreadsSyscall",
	9:                "GOMAXPROCS",
	10:               "start trace",
	11:               "stop trace",
	12:               "CountPagesInUse (test)",
	13:               "ReadMetricsSlow (test)",
	14:               "ReadMemStatsSlow (test)",
	15:               "PageCachePagesLeaked (test)",
	16:               "ResetDebugLog (test)",
}

// reasonName names a reason.
func reasonName(r uint8) string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", r)
}

func isGC(r uint8) bool { return r == markTermination || r == sweepTermination }

func phaseOf(r uint8) gc.Phase {
	switch r {
	case sweepTermination:
		return gc.SweepTermination
	case markTermination:
		return gc.MarkTermination
	}
	return gc.PhaseUnknown
}

// kindOf returns the kind of all collections of a process that was executed with a
// value of GODEBUG. The runtime reads gcstoptheworld once, as it starts.
func kindOf(godebug string) gc.Kind {
	kind := gc.Background
	for field := range strings.SplitSeq(godebug, ",") {
		if v, ok := strings.CutPrefix(field, "gcstoptheworld="); ok {
			kind = gc.Background
			if v == "1" || v == "2" {
				kind = gc.FullBlocking
			}
		}
	}
	return kind
}
