package verb

import (
	"errors"
	"flag"
	"fmt"

	"github.com/otelgc/otelgc/sidecar/internal/report"
)

// runReport prints what recorded files know of stops.
func runReport(e env, args []string) error {
	set := flag.NewFlagSet("report", flag.ContinueOnError)
	asJSON := set.Bool("json", false, "print one JSON document; of one file")
	asCSV := set.Bool("csv", false, "print one row for each collection, with the columns of PerfView's GCStats; of one file")
	perfview := set.Bool("perfview", false, "print each pause by PerfView's own rule beside ours")
	files, err := parseFiles(e, set, args)
	if err != nil {
		return err
	}
	switch chosen := btoi(*asJSON) + btoi(*asCSV) + btoi(*perfview); {
	case chosen > 1:
		return wrong("--json, --csv and --perfview: want one of them")
	case (*asJSON || *asCSV) && len(files) > 1:
		return wrong("--json and --csv: want one file, got %d", len(files))
	}
	show := func(r *report.Report) error { return r.Print(e.stdout) }
	switch {
	case *asJSON:
		show = func(r *report.Report) error { return printJSON(e, r.Document()) }
	case *asCSV:
		show = func(r *report.Report) error { return r.PrintCSV(e.stdout) }
	case *perfview:
		show = func(r *report.Report) error { return r.PrintPerfView(e.stdout) }
	}
	for i, file := range files {
		if i > 0 {
			if _, err := fmt.Fprintln(e.stdout); err != nil {
				return fmt.Errorf("print report: %w", err)
			}
		}
		if err := reportOn(file, show); err != nil {
			return err
		}
	}
	return nil
}

// reportOn shows the report of one file. What was whole of a damaged one is
// shown, too.
func reportOn(file string, show func(*report.Report) error) error {
	r, err := report.ReadFile(file)
	if r != nil {
		if err := show(r); err != nil {
			return err
		}
	}
	if errors.Is(err, report.ErrUnknown) || errors.Is(err, report.ErrOpen) {
		return wrongArgument{err}
	}
	return err
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
