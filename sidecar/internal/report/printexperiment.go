package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// printExperiment writes a recording in the reporting format: machine, system,
// runtime, workload, results. What keeps others from getting the same comes
// first.
func (r *Report) printExperiment(w io.Writer) {
	x := r.Experiment
	fmt.Fprintf(w, "A RECORDING WITH %s OF RESULTS\n\n", x.Results.Duration().Round(time.Second))
	for _, why := range x.NotReproducible {
		textfmt.Wrap(w, "  NOT REPRODUCIBLE: ", "    ", printable(why))
	}
	if len(x.NotReproducible) == 0 {
		fmt.Fprintln(w, "  Nothing that is needed to do it again is missing.")
	}
	if len(r.Incomplete) > 0 {
		r.printIncomplete(w)
	}
	textfmt.Heading(w, "WHAT RAN", "")
	textfmt.Item(w, "machine", orMissing(printable(x.Machine)))
	textfmt.Item(w, "os", orMissing(printable(x.OS)))
	for i := range x.Targets {
		textfmt.Item(w, "runtime", runtimeLine(&x.Targets[i]))
	}
	if len(x.Targets) == 0 {
		textfmt.Item(w, "runtime", orMissing(""))
	}
	textfmt.Item(w, "workload", orMissing(printable(x.Workload)))
	for _, text := range x.probeTexts() {
		textfmt.Item(w, "probe", text)
	}
	textfmt.Item(w, "warm-up", fmt.Sprintf("%v, discarded", x.Warmup))
	textfmt.Item(w, "results", fmt.Sprintf("%s, from %d to %d ns of %s", textfmt.Length(x.Results.Duration()), x.Results.Start, x.Results.End, clockMonotonic))
	textfmt.Item(w, "recorded", x.Started.UTC().Format("2006-01-02 15:04:05 MST")+", by "+printable(r.Source.Runtime))
	for i := range x.Targets {
		t := &x.Targets[i]
		one := r.only(t.ID)
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(fmt.Sprintf("PROCESS %d %s", t.PID, printable(t.Name))))
		if t.Unwatched != "" {
			textfmt.Wrap(w, "  ", "  ", "its collections were not watched: "+printable(t.Unwatched))
			continue
		}
		x.printWatched(w, t)
		one.printKinds(w)
		one.printLongest(w)
		one.printSlowed(w)
		one.printSuspensions(w)
	}
	for _, h := range x.Hosts {
		h.print(w)
	}
	x.printProbes(w)
	x.printDoctor(w)
}

func orMissing(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}

// runtimeLine says all facts of a target, those that are missing too.
func runtimeLine(t *recording.Target) string {
	words := []string{}
	names := recording.RuntimeFacts[t.Runtime]
	for _, name := range names {
		value := t.Facts[name]
		if value == "" {
			value = "missing"
		}
		words = append(words, name+" "+printable(value))
	}
	if build := t.Facts[recording.FactBuild]; build != "" {
		words = append(words, recording.FactBuild+" "+printable(build))
	}
	text := fmt.Sprintf("process %d: %s", t.PID, printable(t.Runtime))
	if len(words) > 0 {
		text += ": " + strings.Join(words, "; ")
	}
	return text
}
