package doctor

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// TestTheProbeHasTheLastWord: what the rights allow and the probe cannot do is
// not decidable.
func TestTheProbeHasTheLastWord(t *testing.T) {
	f := readFake(t, "testdata/metal.txtar")
	l := f.live()
	report, err := run(root{f.files}, "amd64", l, f.ask(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(report.Decidable, "host.steal") || slices.Contains(report.Decidable, "host.irq_or_steal") {
		t.Errorf("decidable with all rights: %v", report.Decidable)
	}
	l.selfTest = func(o jitterprobe.Options, d time.Duration) (jitterprobe.Trial, error) {
		if !o.Interrupts {
			t.Error("the self-test does not ask for interrupts")
		}
		trial := goodTrial(d)
		trial.Limits = []jitterprobe.Limit{{Causes: []stall.Cause{stall.HostIRQ, stall.HostSteal}, Why: "no events", Mend: "mount tracefs"}}
		return trial, nil
	}
	if report, err = run(root{f.files}, "amd64", l, f.ask(t)); err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Causes {
		limited := c.Cause == "host.irq" || c.Cause == "host.steal"
		if c.Decidable == limited || limited && c.Needs != "mount tracefs" {
			t.Errorf("cause %+v", c)
		}
	}
	// Without a self-test a probe is asked all the same.
	o := f.ask(t)
	o.SelfTest = -1
	l.limits = func(jitterprobe.Options) ([]jitterprobe.Limit, error) { return nil, errors.New("no thread") }
	without, err := run(root{f.files}, "amd64", l, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(without.Decidable) > 0 || len(without.Causes) != len(allCauses) || without.Causes[0].Needs != "the probe cannot run: no thread" {
		t.Errorf("decidable without a probe: %v; %+v", without.Decidable, without.Causes)
	}
	if !slices.Contains(report.Decidable, "host.irq_or_steal") {
		t.Errorf("decidable with a limit: %v", report.Decidable)
	}
}
