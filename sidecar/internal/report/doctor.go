package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// Warning is a check of the doctor that warned, and what it found.
type Warning struct {
	ID    string `json:"id"`
	PID   int    `json:"pid,omitempty"` // of the process that it is about, 0 for the machine
	Value string `json:"value"`
}

// answers are the doctor's about a process, or about the machine.
type answers struct {
	failed []string
	warned []Warning
}

// learnDoctor takes what failed, and what was warned of, out of the doctor's
// document. The later of two about the same counts.
func (b *experimentBuilder) learnDoctor(document json.RawMessage) {
	var d struct {
		Target int `json:"target"` // absent in older documents
		Checks []struct {
			Warning
			Status string `json:"status"`
		} `json:"checks"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		b.addHole(Hole{Why: "the doctor's answers cannot be read: " + err.Error()})
		return
	}
	about := make(map[int]answers)
	for _, c := range d.Checks[:min(len(d.Checks), maxChecks)] {
		if c.PID = 0; strings.HasPrefix(c.ID, "target") {
			c.PID = d.Target
		}
		a := about[c.PID]
		switch c.Status {
		case "fail":
			a.failed = append(a.failed, c.ID)
		case "warn":
			a.warned = append(a.warned, c.Warning)
		}
		about[c.PID] = a
	}
	for pid, a := range about {
		if _, again := b.answers[pid]; again || len(b.answers) < maxExamined {
			b.answers[pid] = a
		}
	}
	b.named = b.named || d.Target != 0
	b.Examined = true
}

// askDoctor asks the doctor for a recording without answers, where it was made since
// this machine booted.
func (b *experimentBuilder) askDoctor(o Options) {
	if boot, err := stall.BootID(); b.Examined || o.Doctor == nil || err != nil || boot != b.BootID {
		return
	}
	var probe recording.Probe
	if len(b.Probes) > 0 {
		probe = b.Probes[0].Probe
	}
	document, err := o.Doctor(b.made, probe, 0)
	if err != nil {
		return
	}
	b.learnDoctor(document)
	b.ExaminedLater = b.Examined
	for i := range b.Targets {
		b.named = true
		if document, err := o.Doctor(b.made, probe, b.Targets[i].PID); err == nil {
			b.learnDoctor(document)
		}
	}
}

// settleDoctor puts the answers about the machine and all processes together.
func (b *experimentBuilder) settleDoctor() {
	for _, pid := range slices.Sorted(maps.Keys(b.answers)) {
		b.Failed = append(b.Failed, b.answers[pid].failed...)
		b.Warned = append(b.Warned, b.answers[pid].warned...)
	}
	for _, t := range b.Targets {
		if _, examined := b.answers[t.PID]; b.named && !examined {
			b.Unexamined = append(b.Unexamined, t.PID)
		}
	}
}

func (x *Experiment) printDoctor(w *textfmt.Page) {
	w.Heading("THE DOCTOR", "")
	switch {
	case !x.Examined:
		w.Say("was not asked")
	case len(x.Failed) == 0:
		w.Say("found nothing that makes these numbers unbelievable")
	default:
		w.Say("%s", "failed: "+strings.Join(x.Failed, ", "))
	}
	if x.ExaminedLater {
		w.Say("was asked for this report, since the recording has no answers")
	}
	for i := range x.Warned {
		v := &x.Warned[i]
		first := fmt.Sprintf("  warned of %-18s", v.ID)
		text := v.Value
		if v.PID != 0 && len(x.Targets) > 1 {
			text = fmt.Sprintf("process %d: %s", v.PID, text)
		}
		w.Wrap(first, strings.Repeat(" ", len(first)), text)
	}
	if n := len(x.Unexamined); n > 0 {
		const most = 8
		words := make([]string, 0, most)
		for _, pid := range x.Unexamined[:min(n, most)] {
			words = append(words, fmt.Sprint(pid))
		}
		if n > most {
			words = append(words, fmt.Sprintf("%d more", n-most))
		}
		w.Say("%s", "was not asked about process "+strings.Join(words, ", ")+": it had ended, or there were too many")
	}
}
