package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// paused is a full blocking collection that paused for 12 ms.
func paused(at stall.Instant, during gc.HostDuring) *Collection {
	const long = stall.Instant(12 * time.Millisecond)
	return &Collection{Collection: gc.Collection{
		Index: 5, Kind: gc.FullBlocking, Trigger: "Induced",
		Pauses: []gc.Pause{{Start: at, End: at + long, EndMax: at + long, HostDuring: during}},
	}}
}

// TestLongestSayWhatTheMachineTook: of a pause that is one of a few there is nothing
// to call it long by, and still who reads of it learns that it had no CPU.
func TestLongestSayWhatTheMachineTook(t *testing.T) {
	for name, c := range map[string]struct {
		during []gc.HostDuring
		want   []string
	}{
		"nobody watched":   {[]gc.HostDuring{{}}, []string{"12.0 ms at +0.000000 s GC 5 full blocking Induced"}},
		"left alone":       {[]gc.HostDuring{{CPUWait: gc.Known(time.Duration(0))}}, []string{"12.0 ms at +0.000000 s GC 5 full blocking Induced"}},
		"without a CPU":    {[]gc.HostDuring{{CPUWait: gc.Known(10 * time.Millisecond)}}, []string{"without", "a CPU", "12.0 ms at +0.000000 s GC 5 full blocking Induced 10.0 ms"}},
		"waiting for disk": {[]gc.HostDuring{{PageWait: gc.Known(9 * time.Millisecond)}}, []string{"for pages", "from disk", "12.0 ms at +0.000000 s GC 5 full blocking Induced 9.00 ms"}},
		"one of two": {
			[]gc.HostDuring{{CPUWait: gc.Known(time.Millisecond)}, {}},
			[]string{"without", "a CPU", "12.0 ms at +0.000000 s GC 5 full blocking Induced 1.00 ms", "12.0 ms at +1.000000 s GC 5 full blocking Induced n/a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r Report
			for i, d := range c.during {
				r.Collections = append(r.Collections, paused(stall.Instant(i)*stall.Instant(time.Second), d))
			}
			var out strings.Builder
			page := textfmt.NewText(&out, textfmt.Width)
			r.printLongest(page)
			if err := page.Close(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
				got = append(got, strings.Join(strings.Fields(line), " "))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("lines (-want +got):\n%s", d)
			}
		})
	}
}
