package dotnet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// maxEnding bounds the processes whose place was given to others and whose
// sessions have not ended yet.
const maxEnding = 8

// errDisplaced is why a process is watched no longer whose place another got.
var errDisplaced = errors.New("not watched any longer: others of its user or container have the places of that, and a process of another needed one")

// admit reports whether there is a place for p. If there is none, the youngest
// process of the group that has most makes place for one of a group with fewer, if
// that has no more than the other afterwards: so nobody takes turns.
func (w *Watcher) admit(p *process) bool {
	counts, watched := make(map[string]int), 0
	for _, o := range w.known {
		if !o.displaced {
			counts[o.group]++
			watched++
		}
	}
	if watched < w.budget.targets && len(w.known) < w.budget.targets+maxEnding {
		return true
	}
	if len(w.known) >= w.budget.targets+maxEnding {
		return false
	}
	var youngest *process
	for key, o := range w.known {
		if o.displaced || key == w.named || counts[o.group] < counts[p.group]+2 {
			continue
		}
		if youngest == nil || cmp.Or(cmp.Compare(counts[o.group], counts[youngest.group]), cmp.Compare(o.order, youngest.order), cmp.Compare(o.id.PID, youngest.id.PID)) > 0 {
			youngest = o
		}
	}
	if youngest == nil {
		return false
	}
	youngest.displaced = true
	youngest.log.Warn("a process is not watched any longer: another user or container has fewer that are", "group", youngest.group, "watched", counts[youngest.group], "at_most", w.budget.targets)
	youngest.abandon(errDisplaced)
	return true
}

// leave says of a process, once, that it is not watched. It is as soon as another
// one ends.
func (w *Watcher) leave(key dotnetipc.Identity, p *process) {
	if _, said := w.left[key]; said {
		return
	}
	p.summary.Why = fmt.Sprintf("not watched: %d other processes are", w.budget.targets)
	switch {
	case w.remember(key, p.summary):
		p.log.Warn("a process is not watched: there are too many", "at_most", w.budget.targets)
	case !w.unnamed:
		w.unnamed = true
		w.o.Log.Warn("more processes are not watched than are named", "named", maxSummaries)
	}
}

// remember keeps the summary of a process that waits for a place. It reports false
// if there are too many.
func (w *Watcher) remember(key dotnetipc.Identity, s Summary) bool {
	if len(w.left) >= maxSummaries {
		return false
	}
	if w.left == nil {
		w.left = make(map[dotnetipc.Identity]Summary)
	}
	w.left[key] = s
	return true
}

// keep keeps the summary of a process that has ended. If there are too many, one of
// the group that has most goes: the first of those with the fewest collections.
func (w *Watcher) keep(s Summary) {
	w.summaries = append(w.summaries, s)
	if len(w.summaries) <= maxSummaries {
		return
	}
	w.unlisted++
	counts := make(map[string]int)
	for i := range w.summaries {
		counts[w.summaries[i].group]++
	}
	least := 0
	for i := range w.summaries {
		a, b := &w.summaries[i], &w.summaries[least]
		if cmp.Or(cmp.Compare(counts[b.group], counts[a.group]), cmp.Compare(a.Collections.Total, b.Collections.Total)) < 0 {
			least = i
		}
	}
	w.summaries = slices.Delete(w.summaries, least, least+1)
}
