package gaps

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/goldentest"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

var update = flag.Bool("update", false, "write the golden files anew")

func spin() *Report {
	gap := jitterprobe.Gap{
		Interval: stall.Interval{Start: 2_500_000, End: 3_700_000, Cause: stall.HostSteal, Scope: stall.ScopeCPU, CPU: 3, Origin: stall.ProbeSpin},
		Evidence: jitterprobe.Evidence{Witness: jitterprobe.Silence, Time: 1_200_000},
	}
	s := jitterprobe.Summary{Mode: jitterprobe.Spin, CPU: 3, Snapshot: jitterprobe.Snapshot{
		Start: 1_000_000, Watermark: 2_001_000_000, Gaps: 2, GapTime: 1_203_500, Longest: gap,
		Dropped: 1, DroppedTime: 2000, DroppedMax: 2000, Loop: 9.56, Balance: 0.9999,
		Counts: [5]jitterprobe.Count{{AtLeast: 2 * time.Microsecond, N: 2}, {AtLeast: 10 * time.Microsecond, N: 1}, {AtLeast: 50 * time.Microsecond, N: 1}, {AtLeast: 100 * time.Microsecond, N: 1}, {AtLeast: time.Millisecond, N: 1}},
	}}
	s.Histogram[11], s.Histogram[20] = 1, 1
	s.Causes[stall.HostSteal] = jitterprobe.Tally{N: 1, Time: 1_200_000}
	s.Causes[stall.HostThrottled] = jitterprobe.Tally{N: 1, Time: 3500}
	var l Log
	l.Add(gap)
	l.Add(jitterprobe.Gap{Interval: stall.Interval{Start: 2_000_000, End: 2_003_500, Cause: stall.HostThrottled, Scope: stall.ScopeCgroup, CPU: -1}})
	return NewReport(s, &l, time.Microsecond)
}

func periodic() *Report {
	s := jitterprobe.Summary{Mode: jitterprobe.Periodic, CPU: -1, Note: "one CPU: periodic"}
	s.Start, s.Watermark, s.Counts = 1, 1_000_000_001, spin().Counts
	for i := range s.Counts {
		s.Counts[i].N = 3
	}
	// One gap swallowed the wake-ups of two periods more.
	s.Gaps, s.GapTime, s.Longest = 1, 3500*time.Microsecond, jitterprobe.Gap{Interval: stall.Interval{Start: 5_000_001, End: 8_500_001, Cause: stall.HostUnknown}}
	s.Histogram[20], s.Histogram[21] = 1, 2
	s.Causes[stall.HostUnknown] = jitterprobe.Tally{N: 1, Time: s.GapTime}
	r := NewReport(s, &Log{}, 100*time.Microsecond)
	r.Limits = []jitterprobe.Limit{{Causes: []stall.Cause{stall.HostIRQ, stall.HostSteal}, Why: "mode periodic does not watch between two wake-ups", Mend: "use mode spin"}}
	return r
}

func TestReport(t *testing.T) {
	for name, r := range map[string]*Report{"spin": spin(), "periodic": periodic()} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			if err := r.Print(&text); err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".txt", text.Bytes(), *update)
			for line := range strings.Lines(text.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > textfmt.Width {
					t.Errorf("line of %d columns, at most %d:\n%s", n, textfmt.Width, line)
				}
			}
			d := r.Document()
			d.BootID = "" // of this boot
			doc, err := json.MarshalIndent(d, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".json", append(doc, '\n'), *update)
		})
	}
}

func TestLogKeepsTheLongest(t *testing.T) {
	var l Log
	const n = 2*maxKept + 5
	for i := range stall.Instant(n) {
		// The later a gap the longer it is.
		l.Add(jitterprobe.Gap{Interval: stall.Interval{Start: i * 1_000_000, End: i*1_000_000 + i + 1}})
	}
	list, left := l.Gaps()
	if len(list) != maxKept || left != n-maxKept {
		t.Fatalf("%d gaps kept, %d left out, want %d and %d", len(list), left, maxKept, n-maxKept)
	}
	for i, g := range list {
		if want := stall.Instant(n-maxKept+i) * 1_000_000; g.Start != want {
			t.Fatalf("gap %d starts at %d, want %d", i, g.Start, want)
		}
	}
}
