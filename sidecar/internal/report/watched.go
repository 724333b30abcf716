package report

import (
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// Watched is how a target was watched behind the warm-up, as far as who watched
// it says so. A process that records itself has nobody to lose sight of it.
type Watched struct {
	Until  stall.Instant // all before it was seen, or counts as unseen
	Unseen time.Duration
	Lost   uint64 // events of the runtime that did not arrive

	first, last recording.Status // of the warm-up, of all
}

// learnTargetStatus takes a status of who watches a target.
func (b *experimentBuilder) learnTargetStatus(v *recording.Status) {
	w := b.Watched[v.Target]
	if w == nil {
		if len(b.Watched) == maxTargets {
			return
		}
		if b.Watched == nil {
			b.Watched = make(map[int]*Watched)
		}
		w = &Watched{}
		b.Watched[v.Target] = w
	}
	w.last = *v
	if v.Watermark <= b.Results.Start {
		w.first = *v
	}
}

// settleWatched computes what the results lack.
func (b *experimentBuilder) settleWatched() {
	for _, w := range b.Watched {
		w.Until = w.last.Watermark
		w.Unseen = max(0, w.last.Unseen-w.first.Unseen)
		w.Lost = w.last.Dropped - min(w.first.Dropped, w.last.Dropped)
	}
}

// judgeWatched asks for a process that was watched all the time: of a pause that
// nobody saw the results know nothing, and it may have been the longest.
func (x *Experiment) judgeWatched(t *recording.Target) {
	w := x.Watched[t.ID]
	if w == nil {
		if fromOutside(t) {
			x.not("who watched process %d never said how far: a crash may have cut the recording off before", t.PID)
		}
		return
	}
	if w.Lost > 0 {
		x.not("%s of process %d were lost: pauses may be missing, the longest too", textfmt.Many(w.Lost, "event"), t.PID)
	}
	if w.Unseen > 0 {
		x.not("process %d was not watched for %s of the results", t.PID, textfmt.Length(w.Unseen))
	}
	if early := x.Results.End.Sub(w.Until); early > lateTarget {
		x.not("process %d was watched until %v before the end only: it ended, or was lost sight of", t.PID, early.Round(time.Second))
	}
}

// fromOutside reports whether a process was watched by the sidecar, which tells
// how far. A Go program records itself: nobody can lose sight of it.
func fromOutside(t *recording.Target) bool { return t.Runtime == "dotnet" && t.Unwatched == "" }

// printWatched says how well a process was watched.
func (x *Experiment) printWatched(w io.Writer, t *recording.Target) {
	seen := x.Watched[t.ID]
	if seen == nil || x.Results.Empty() {
		return
	}
	fmt.Fprintf(w, "  watched for %s of %s, %s lost\n",
		textfmt.Length(x.watchedFor(t)), textfmt.Length(x.Results.Duration()), textfmt.Many(seen.Lost, "event"))
}

// watchedFor returns for how much of the results a process was watched.
func (x *Experiment) watchedFor(t *recording.Target) time.Duration {
	from, until, unseen := max(t.At, x.Results.Start), x.Results.End, time.Duration(0)
	if w := x.Watched[t.ID]; w != nil {
		until, unseen = min(w.Until, until), w.Unseen
	} else if fromOutside(t) {
		return 0
	}
	return max(0, until.Sub(from)-unseen)
}
