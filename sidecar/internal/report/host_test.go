package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall/gc"
)

// hosted is what the machine did to process 42 up to an instant, growing with n.
func hosted(at time.Duration, n time.Duration) recording.Record {
	return recording.Host{
		PID: 42, Followed: true, At: begin.Add(at), Totals: hostcount.Totals{
			RunDelay: 9 * n, Denied: 2 * n, Paged: n, Mixed: 3 * n, Covered: 6 * n,
			Throttled: gc.Known(4 * n), MajorFaults: uint64(n / time.Millisecond), Stolen: n,
			MachinePressure: hostcount.MachinePressure{CPU: 5 * n, Memory: 7 * n},
			GroupPressure:   gc.Known(hostcount.Pressure{CPU: n}), Dropped: uint64(n / time.Second),
		},
	}
}

// TestHost: what the machine did to a process behind the warm-up, though nobody
// watched its runtime.
func TestHost(t *testing.T) {
	whole := experiment(10_000)
	list := slices.Insert(slices.Clone(whole), len(whole)-1, hosted(59*time.Second, time.Second), hosted(69*time.Second, 3*time.Second))
	r := readExperiment(t, list, Options{Warmup: warmup})
	want := []*Host{{Host: hosted(69*time.Second, 2*time.Second).(recording.Host), Over: 10 * time.Second}}
	got := r.Experiment.Hosts
	if diff := cmp.Diff(want, got, compareMaybe); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"WHAT THE MACHINE DID TO PROCESS 42 10.0 s, every switch of its threads was followed",
		"held up 4.00 s 40.0 %: a thread was ready, and none of the process ran",
		"paging 2.00 s 20.0 %: one waited for a page from disk, and none ran",
		"run delay 18.0 s", "throttled 8.00 s", "faults 2,000 pages came from disk",
		"pressure of the machine: for a CPU 10.0 s, for memory 14.0 s, for disks 0 ns", "of its cgroup: for a CPU 2.00 s, for memory 0 ns, for disks 0 ns",
		"2 events of the scheduler were lost",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the report", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	checkWidth(t, out.String())
}

// TestHostBeganLate: a process that was first told of within the results was
// watched from then on, and what was counted before is no part of them.
func TestHostBeganLate(t *testing.T) {
	whole := experiment(20)
	late := slices.Insert(slices.Clone(whole), len(whole)-1, hosted(62*time.Second, time.Second), hosted(66*time.Second, 3*time.Second))
	for name, tt := range map[string]struct {
		list []recording.Record
		want []*Host
	}{
		"twice": {late, []*Host{{Host: hosted(66*time.Second, 2*time.Second).(recording.Host), Over: 4 * time.Second}}},
		"once":  {slices.Delete(slices.Clone(late), len(late)-2, len(late)-1), nil},
	} {
		r := readExperiment(t, tt.list, Options{Warmup: warmup})
		if diff := cmp.Diff(tt.want, r.Experiment.Hosts, compareMaybe); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestHostOfCounters: without the right to follow threads there are no lengths of
// time that are certain, and none is said.
func TestHostOfCounters(t *testing.T) {
	from, to := hosted(55*time.Second, 0).(recording.Host), hosted(65*time.Second, time.Second).(recording.Host)
	from.Followed, to.Followed = false, false
	whole := experiment(20)
	r := readExperiment(t, slices.Insert(slices.Clone(whole), len(whole)-1, recording.Record(from), recording.Record(to)), Options{})
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if !strings.Contains(text, "its threads were counted, not followed") || strings.Contains(text, "held up") || !strings.Contains(text, "run delay") {
		t.Errorf("report:\n%s", text)
	}
}

// TestGapsWithoutPauses: where nobody watched a runtime there is nothing to set
// gaps against, and no figure is given.
func TestGapsWithoutPauses(t *testing.T) {
	var list []recording.Record
	for _, r := range experiment(100) {
		switch r.(type) {
		case recording.Target, recording.Collection, recording.Suspension:
		default:
			list = append(list, r)
		}
	}
	var out bytes.Buffer
	if err := readExperiment(t, list, Options{Warmup: warmup}).Print(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(text, "No pause was seen that the 10 gaps of 50.0 us or more could be set against.") || strings.Contains(text, "by chance") {
		t.Errorf("report:\n%s", out.String())
	}
}

// TestSuspensionOfARecording: a stop keeps the upper bound of its end.
func TestSuspensionOfARecording(t *testing.T) {
	got := readExperiment(t, experiment(100), Options{}).Suspensions
	if len(got) != 1 || got[0].EndMax != got[0].End+500 {
		t.Errorf("suspensions %+v, want one that may have ended 500 ns later", got)
	}
}
