package cli

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/otelgc/otelgc/sidecar/internal/report"
	"github.com/otelgc/otelgc/stall/gc"
)

// defineReport is the command that prints what recorded files know of stops.
func defineReport(set *flag.FlagSet) func(env) error {
	asCSV := set.Bool("csv", false, "print one row for each collection, with the columns of PerfView's GCStats; of one file")
	asHTML := set.Bool("html", false, "print the report as a page for a browser that loads nothing else; of one file")
	perfettoOut := set.String("perfetto", "", "write a `file` that the Perfetto UI opens, instead of printing; of one file")
	perfview := set.Bool("perfview", false, "print each pause by PerfView's own rule next to ours")
	warmup := set.Duration("warmup", report.DefaultWarmup, "of a recording: its beginning, which is no part of the results")
	kinds := set.String("kinds", "", "of a recording: the `kinds` of collection that results are claimed of, such as\nephemeral,background,full_blocking: each must have occurred")
	workload := set.String("workload", "", "of a recording: what ran, if it does not say")
	return func(e env) (err error) {
		o := report.Options{Warmup: *warmup, Workload: *workload, Doctor: examineForReport}
		if o.Kinds, err = parseKinds(*kinds); err != nil {
			return wrong("--kinds: %w", err)
		}
		if *warmup < 0 {
			return wrong("--warmup %v: want 0s or more", *warmup)
		}
		show, chosen := (*report.Report).Print, 0
		for _, as := range []struct {
			is   bool
			show func(*report.Report, io.Writer) error
		}{
			{*e.json, func(r *report.Report, _ io.Writer) error { return e.print(func() any { return r }, nil) }},
			{*asCSV, (*report.Report).PrintCSV},
			{*asHTML, (*report.Report).PrintHTML},
			{*perfview, (*report.Report).PrintPerfView},
			{*perfettoOut != "", func(r *report.Report, stdout io.Writer) error { return writePerfetto(r, *perfettoOut, stdout) }},
		} {
			if as.is {
				show, chosen = as.show, chosen+1
			}
		}
		switch {
		case chosen > 1:
			return wrong("--json, --csv, --html, --perfetto and --perfview: want one of them")
		case chosen == 1 && !*perfview && len(e.files) > 1:
			return wrong("--json, --csv, --html and --perfetto: want one file, got %d", len(e.files))
		}
		return reportAll(e, o, show)
	}
}

// writePerfetto writes the report as a trace for Perfetto, and prints where it is.
func writePerfetto(r *report.Report, file string, stdout io.Writer) error {
	var trace bytes.Buffer
	err := r.WritePerfetto(&trace)
	if err == nil {
		err = os.WriteFile(file, trace.Bytes(), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write perfetto trace: %w", err)
	}
	if _, err := fmt.Fprintf(stdout, "%s: open it in the Perfetto UI, or with trace_processor\n", file); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// reportAll shows the report of each file. Of several errors it returns the worst, and
// prints the others.
func reportAll(e env, o report.Options, show func(*report.Report, io.Writer) error) error {
	var worst error
	for i, file := range e.files {
		if i > 0 {
			if _, err := fmt.Fprintln(e.stdout); err != nil {
				return fmt.Errorf("print report: %w", err)
			}
		}
		worst = worse(e, worst, reportOn(e, file, o, show))
	}
	return worst
}

// worse returns the one of two errors that decides the exit code, and prints the
// other: each file has its line.
func worse(e env, a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	if severity(b) > severity(a) {
		a, b = b, a
	}
	complain(e.stderr, fmt.Errorf("report: %w", b))
	return a
}

// severity orders errors: the numbers cannot be believed, the file is damaged, it is of
// another format.
func severity(err error) int {
	return slices.Index([]int{Unbelievable, Failed, Wrong}, exitCode(err))
}

// reportOn shows the report of one file. What was whole of a damaged one is
// shown, too.
func reportOn(e env, file string, o report.Options, show func(*report.Report, io.Writer) error) error {
	r, err := report.ReadFile(file, o)
	if r != nil {
		if err := show(r, e.stdout); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, report.ErrUnknown) || errors.Is(err, report.ErrOpen):
		return exitError{err, Wrong}
	case err != nil:
		return err
	case r.Experiment != nil && len(r.Experiment.NotReproducible) > 0:
		return exitError{fmt.Errorf("%s: NOT REPRODUCIBLE: %s", file, strings.Join(r.Experiment.NotReproducible, "; ")), Unbelievable}
	}
	return nil
}

// parseKinds parses names of kinds with commas between them.
func parseKinds(s string) (kinds []gc.Kind, err error) {
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		var kind gc.Kind
		if err := kind.UnmarshalText([]byte(name)); err != nil || kind == gc.NoKind {
			return nil, fmt.Errorf("parse kind %q: want ephemeral, background or full_blocking", name)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}
