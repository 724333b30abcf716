package doctor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/jitterprobe"
)

func TestSelfTestThatGoesWrong(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*jitterprobe.Trial)
		want  []string // checks that are neither ok nor information
	}{
		{"nothing", func(*jitterprobe.Trial) {}, nil},
		{"a counter that is 50 ppm off", func(t *jitterprobe.Trial) { t.Counted += t.Span / 20000 }, nil},
		{"a counter that is 200 ppm off", func(t *jitterprobe.Trial) { t.Counted -= t.Span / 5000 }, []string{"selftest.counter fail"}},
		{"gaps that were dropped", func(t *jitterprobe.Trial) { t.Seen, t.Dropped = 0.99, 12 }, []string{"selftest.covered fail"}},
		{"a signal", func(t *jitterprobe.Trial) { t.Own.Signals = 1 }, []string{"selftest.own fail"}},
		{"a context switch", func(t *jitterprobe.Trial) { t.Own.Switches = 1 }, []string{"selftest.own fail"}},
		{"counters that are apart", func(t *jitterprobe.Trial) { t.Apart = 3 * time.Microsecond }, []string{"selftest.cpus warn"}},
		{"another mode", func(t *jitterprobe.Trial) { t.Mode, t.Note = jitterprobe.Periodic, "one CPU: periodic" }, []string{"selftest.mode warn"}},
		{"a loop that drifts", func(t *jitterprobe.Trial) { t.Loop, t.Balance = 11, 0.97 }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &machine{mode: jitterprobe.Spin}
			m.selfTest = func(_ jitterprobe.Options, d time.Duration) (jitterprobe.Trial, error) {
				trial := goodTrial(d)
				test.spoil(&trial)
				return trial, nil
			}
			var got []string
			for _, c := range m.appendChecks(nil, m.testSelf(Options{})) {
				if c.Status != OK && c.Status != Info {
					got = append(got, c.ID+" "+string(c.Status))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
}
