package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
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
