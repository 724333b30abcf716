package report

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// TestAnswersOfTheDoctor: the later of two about the machine counts, or about one
// process, and they do not take the place of each other.
func TestAnswersOfTheDoctor(t *testing.T) {
	check := func(id, status, value string) string {
		return fmt.Sprintf(`{"id":%q,"status":%q,"value":%q}`, id, status, value)
	}
	answers := func(target int, checks ...string) recording.Doctor {
		return recording.Doctor{RawMessage: json.RawMessage(fmt.Sprintf(`{"target":%d,"checks":[%s]}`, target, strings.Join(checks, ",")))}
	}
	machine := check("load", "warn", "some load")
	for _, test := range []struct {
		name       string
		list       []recording.Doctor
		warned     []Warning
		failed     []string
		unexamined []int
	}{
		{
			"of the machine and of the process at once", []recording.Doctor{answers(42, machine, check("target.cpus", "warn", "0-3"))},
			[]Warning{{"load", 0, "some load"}, {"target.cpus", 42, "0-3"}}, nil, nil,
		},
		{
			"one after the other", []recording.Doctor{answers(0, machine, check("swap", "fail", "on")), answers(42, check("target.cpus", "warn", "0-3")), answers(43, check("target.cpus", "warn", "4"))},
			[]Warning{{"load", 0, "some load"}, {"target.cpus", 42, "0-3"}, {"target.cpus", 43, "4"}}, []string{"swap"}, nil,
		},
		{
			"again", []recording.Doctor{answers(0, machine), answers(42, check("target.cpus", "warn", "0-3")), answers(42, check("target.cpus", "ok", "0-2")), answers(0, check("load", "ok", "none"))},
			nil, nil, nil,
		},
		{
			"of another process only", []recording.Doctor{answers(0, machine), answers(41, check("target.cpus", "ok", "0"))},
			[]Warning{{"load", 0, "some load"}}, nil, []int{42},
		},
		{
			"from before they named the process", []recording.Doctor{{RawMessage: json.RawMessage(`{"checks":[` + check("target.cpus", "warn", "0-3") + `]}`)}},
			[]Warning{{"target.cpus", 0, "0-3"}}, nil, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := experiment(3)
			kept := []recording.Record{list[0]}
			for _, a := range test.list {
				kept = append(kept, a)
			}
			for _, r := range list[1:] {
				if _, is := r.(recording.Doctor); !is {
					kept = append(kept, r)
				}
			}
			x := readExperiment(t, kept, Options{Warmup: warmup}).Experiment
			if diff := cmp.Diff(test.warned, x.Warned); diff != "" {
				t.Errorf("warned (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.failed, x.Failed); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.unexamined, x.Unexamined); diff != "" {
				t.Errorf("not asked about (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAskedByTheReport: for a recording without answers the report asks, if the machine
// has not booted since.
func TestAskedByTheReport(t *testing.T) {
	boot, err := stall.BootID()
	if err != nil {
		t.Skipf("needs a boot ID: %v", err)
	}
	list := slices.DeleteFunc(experiment(5), func(r recording.Record) bool { _, is := r.(recording.Doctor); return is })
	here := slices.Clone(list)
	e := here[0].(recording.Environment)
	e.BootID = boot
	here[0] = e
	for name, test := range map[string]struct {
		list  []recording.Record
		ended bool
		want  string
	}{
		"this machine":         {here, false, "was asked for this report"},
		"a process that ended": {here, true, "was not asked about process 42"},
		"another boot":         {list, false, "was not asked\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ask := func(made recording.Environment, probe recording.Probe, pid int) (json.RawMessage, error) {
				if made != e || probe != spinner() {
					t.Errorf("asked for %+v by %+v", made, probe)
				}
				if pid != 0 && test.ended {
					return nil, fs.ErrNotExist
				}
				return json.RawMessage(fmt.Sprintf(`{"target":%d,"checks":[{"id":"swap","status":"ok"}]}`, pid)), nil
			}
			r := readExperiment(t, test.list, Options{Doctor: ask})
			var text strings.Builder
			if err := r.Print(&text); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), test.want) {
				t.Errorf("the report lacks %q:\n%s", test.want, text.String())
			}
			if d := r.Experiment; d.ExaminedLater != (name != "another boot") || d.Examined != d.ExaminedLater {
				t.Errorf("examined %v, later %v", d.Examined, d.ExaminedLater)
			}
		})
	}
}
