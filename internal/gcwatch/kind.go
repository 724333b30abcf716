package gcwatch

import (
	"strings"

	"github.com/otelgc/otelgc/stall/gc"
)

// KindOf returns the kind of every cycle of a process that was started with
// the environment variable GODEBUG set to godebug. The runtime reads
// gcstoptheworld once, when the process starts.
func KindOf(godebug string) gc.Kind {
	kind := gc.Background
	for field := range strings.SplitSeq(godebug, ",") {
		if v, ok := strings.CutPrefix(field, "gcstoptheworld="); ok {
			switch v {
			case "1", "2":
				kind = gc.FullBlocking
			default:
				kind = gc.Background
			}
		}
	}
	return kind
}
