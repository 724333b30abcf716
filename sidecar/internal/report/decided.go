package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// Decision is a cause, and what decided it.
type Decision struct {
	Cause   stall.Cause
	Witness jitterprobe.Witness
	Bare    bool // the recording is from before that was kept
}

// notRecorded is the name of what was not kept, beside those of the witnesses.
const notRecorded = "not_recorded"

// by names what decided.
func (d Decision) by() string {
	if d.Bare {
		return notRecorded
	}
	return d.Witness.String()
}

// Sum is a number of gaps and their time.
type Sum struct {
	Gaps uint64
	Time time.Duration
}

// worstKept is how many of the longest gaps are kept with their evidence.
const worstKept = 5

// decide counts what decided the cause of g, and keeps g if it is long.
func (c *GapCounts) decide(g *recording.Gap, bare bool) {
	if c.Decided == nil {
		c.Decided = make(map[Decision]Sum)
	}
	d := Decision{g.Cause, g.Evidence.Witness, bare}
	s := c.Decided[d]
	c.Decided[d] = Sum{s.Gaps + 1, s.Time + g.Duration()}

	at, _ := slices.BinarySearchFunc(c.Worst, g, func(have recording.Gap, g *recording.Gap) int {
		return cmp.Or(cmp.Compare(g.Duration(), have.Duration()), -1) // behind those that are as long
	})
	if at < worstKept {
		c.Worst = slices.Insert(c.Worst[:min(len(c.Worst), worstKept-1)], at, *g)
	}
}

// printDecided writes the causes and what decided them, by the time they took.
func (c *GapCounts) printDecided(w io.Writer) {
	all := slices.SortedFunc(maps.Keys(c.Decided), func(a, b Decision) int {
		return cmp.Or(cmp.Compare(c.Decided[b].Time, c.Decided[a].Time), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Witness, b.Witness))
	})
	t := textfmt.Table{Left: map[int]bool{1: true}}
	t.Row("cause", "decided by", "gaps", "in all")
	for _, d := range all {
		s := c.Decided[d]
		by := strings.ReplaceAll(d.by(), "_", " ")
		if !d.Bare && d.Witness == jitterprobe.NoWitness {
			by = "nothing"
		}
		t.Row(d.Cause.String(), by, textfmt.Count(s.Gaps), textfmt.Length(s.Time))
	}
	t.Print(w)
}

// printWorst writes the longest gaps, and what is known of them.
func (c *GapCounts) printWorst(w io.Writer, since stall.Instant) {
	name := "longest"
	for i := range c.Worst {
		g := &c.Worst[i]
		text := g.Cause.String()
		if e := g.Evidence.String(); e != "" {
			text += ": " + printable(e)
		}
		first := fmt.Sprintf("  %-8s%8s  at +%s  ", name, textfmt.Length(g.Duration()), seconds(g.Start.Sub(since)))
		textfmt.Wrap(w, first, strings.Repeat(" ", len(first)), text)
		name = ""
	}
}
