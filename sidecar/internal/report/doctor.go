package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/otelgc/otelgc/sidecar/internal/page"
)

// Warning is a check of the doctor that warned, and what it found.
type Warning struct {
	ID    string `json:"id"`
	Value string `json:"value"`
}

// maxWarnings bounds the warnings that are kept: there are not as many checks.
const maxWarnings = 1 << 8

// learnDoctor takes what failed, and what was warned of, out of the doctor's
// document.
func (b *experimentBuilder) learnDoctor(document json.RawMessage) {
	var d struct {
		Checks []struct {
			Warning
			Status string `json:"status"`
		} `json:"checks"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		b.addHole(Hole{Why: "the doctor's answers cannot be read: " + err.Error()})
		return
	}
	b.Examined, b.Failed, b.Warned = true, nil, nil
	for _, c := range d.Checks[:min(len(d.Checks), maxWarnings)] {
		switch c.Status {
		case "fail":
			b.Failed = append(b.Failed, c.ID)
		case "warn":
			b.Warned = append(b.Warned, c.Warning)
		}
	}
}

func (x *Experiment) printDoctor(w io.Writer) {
	page.Heading(w, "THE DOCTOR", "")
	switch {
	case !x.Examined:
		fmt.Fprintln(w, "  was not asked")
	case len(x.Failed) == 0:
		fmt.Fprintln(w, "  found nothing that makes these numbers unbelievable")
	default:
		page.Wrap(w, "  ", "  ", "failed: "+printable(strings.Join(x.Failed, ", ")))
	}
	for i := range x.Warned {
		first := fmt.Sprintf("  warned of %-18s", printable(x.Warned[i].ID))
		page.Wrap(w, first, strings.Repeat(" ", len(first)), printable(x.Warned[i].Value))
	}
}
