package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// slowedWithoutPauses is a recording that no recorder writes: the machine made
// pauses long of which there are none.
func slowedWithoutPauses() []recording.Record {
	list := experiment(3)
	for i := range list {
		if c, ok := list[i].(recording.Collection); ok {
			c.Pauses, c.SlowedBy = nil, gc.Paging
			list[i] = c
		}
	}
	return list
}

// escapes is a recording whose every text is a command to a terminal.
func escapes() []recording.Record {
	const red = "\x1b[31m\u009b2J\r"
	list := experiment(3)
	for i := range list {
		switch v := list[i].(type) {
		case recording.Environment:
			v.Recorder, v.Machine, v.OS, v.Workload, v.BootID = red, red, red, red, red
			list[i] = v
		case recording.Target:
			v.Name, v.Facts = red, map[string]string{"version": red, "GOGC": "unknown: " + red}
			list[i] = v
		case recording.Probe:
			v.Mode, v.Note = red, red
			list[i] = v
		case recording.Doctor:
			v.RawMessage = json.RawMessage(`{"checks":[{"id":"\u001b[31m","status":"fail"}]}`)
			list[i] = v
		case recording.Collection:
			v.Trigger, v.TriggerSite, v.Incomplete = red, red, red
			list[i] = v
		case recording.Suspension:
			v.Reason, v.Caller = red, red
			list[i] = v
		}
	}
	return append(list[:len(list)-1], recording.Target{ID: 2, PID: 43, Runtime: red, At: begin}, list[len(list)-1])
}

func TestSlowedWithoutPauses(t *testing.T) {
	var out bytes.Buffer
	r := readExperiment(t, slowedWithoutPauses(), Options{Warmup: warmup})
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	if want := "21, at +60.000000 s: paging: paused 0 ns"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in the report:\n%s", want, out.String())
	}
}

// TestEscapes: nothing of a recording commands the terminal that its report is
// read on.
func TestEscapes(t *testing.T) {
	r := readExperiment(t, escapes(), Options{Warmup: warmup})
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return r.Print(b) },
		"html":     func(b *bytes.Buffer) error { return r.PrintHTML(b) },
		"csv":      func(b *bytes.Buffer) error { return r.PrintCSV(b) },
		"perfview": func(b *bytes.Buffer) error { return r.PrintPerfView(b) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); textfmt.Printable(line) != line {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}
