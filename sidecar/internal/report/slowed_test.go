package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestSlowed: what a recording knows of pauses that the machine made long is in
// the report in words; of one that knows nothing there is no word.
func TestSlowed(t *testing.T) {
	for _, slowed := range []bool{false, true} {
		list := experiment(1200)
		for i := range list {
			c, ok := list[i].(recording.Collection)
			if !ok || !slowed || c.Index != 700 {
				continue
			}
			c.SlowedBy, c.UsualPause = gc.StolenCPU, gc.Known(50*time.Microsecond)
			c.Pauses[0].HostDuring.CPUWait = gc.Known(90 * time.Microsecond)
			list[i] = c
		}
		r, err := ReadFile(write(t, list), Options{Warmup: warmup})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.Print(&out); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range []string{
			"MADE LONG BY THE MACHINE", "1 of 1,200 collections: 1 by stolen CPU, 0 by paging.",
			"700, at +", "stolen CPU: paused 179 us, 3.6 times the usual for its work, 90.0 us of it without a CPU",
		} {
			if strings.Contains(text, want) != slowed {
				t.Errorf("slowed %v: %q in the report: %v\n%s", slowed, want, !slowed, out.String())
			}
		}
	}
}
