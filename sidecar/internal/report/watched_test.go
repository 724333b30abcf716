package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// TestWatched: what was lost, or went unseen, within the warm-up is no loss of the
// results; behind it, it is.
func TestWatched(t *testing.T) {
	whole := experiment(10_000)
	end := whole[len(whole)-1].(recording.End).At
	status := func(at time.Duration, lost uint64, unseen time.Duration) recording.Record {
		return recording.Status{Source: "dotnet", Target: 1, At: begin.Add(at), Watermark: begin.Add(at), Dropped: lost, Unseen: unseen}
	}
	results := end.Sub(after)
	for _, test := range []struct {
		name     string
		statuses []recording.Record
		want     []string
		says     string
	}{
		{"nobody but itself", nil, nil, ""},
		{"in the warm-up", []recording.Record{status(50*time.Second, 7, time.Second), status(warmup+results, 7, time.Second)}, nil, "watched for 10.0 s of 10.0 s, 0 events lost"},
		{
			"behind it", []recording.Record{status(50*time.Second, 7, time.Second), status(warmup+results, 19, 3*time.Second)},
			[]string{"12 events of process 42 were lost: pauses may be missing, the longest too", "process 42 was not watched for 2.00 s of the results"},
			"watched for 8.00 s of 10.0 s, 12 events lost",
		},
		{
			"and it ended", []recording.Record{status(warmup+time.Second, 0, 0)},
			[]string{"process 42 was watched until 9s before the end only: it ended, or was lost sight of"}, "watched for 1.00 s of 10.0 s, 0 events lost",
		},
		{
			"never in the results", []recording.Record{status(time.Second, 0, 0)},
			[]string{"process 42 was watched until 1m9s before the end only: it ended, or was lost sight of"}, "watched for 0 ns of 10.0 s, 0 events lost",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := readExperiment(t, slices.Insert(slices.Clone(whole), len(whole)-1, test.statuses...), Options{Warmup: warmup})
			if diff := cmp.Diff(test.want, r.Experiment.NotReproducible, compareMaybe); diff != "" {
				t.Errorf("not reproducible (-want +got):\n%s", diff)
			}
			var out bytes.Buffer
			if err := r.Print(&out); err != nil {
				t.Fatal(err)
			}
			if says := "PROCESS 42 orders\n  " + test.says + "\n"; test.says != "" && !strings.Contains(out.String(), says) {
				t.Errorf("%q is not in the report:\n%s", says, out.String())
			}
		})
	}
}

// TestNobodySaidHowFar: a process that does not record itself was not watched as
// far as nobody says so.
func TestNobodySaidHowFar(t *testing.T) {
	list := slices.Clone(experiment(20))
	v := goTarget()
	v.Runtime = "dotnet"
	list[1] = v
	r := readExperiment(t, list, Options{Warmup: warmup})
	said := strings.Join(r.Experiment.NotReproducible, ";")
	if want := "the watcher of process 42 never reported how far it saw"; !strings.Contains(said, want) {
		t.Errorf("not reproducible: %q, want that %s", said, want)
	}
	if s := r.Experiment.Summaries[1]; !s.PauseShare.IsZero() {
		t.Errorf("a share of the time paused: %v, of none that was watched", s.PauseShare)
	}
}

// TestExactPauses: what was watched exactly is said to be so through a recording.
func TestExactPauses(t *testing.T) {
	list := experiment(20)
	for i, r := range list {
		if c, ok := r.(recording.Collection); ok {
			c.Fidelity = stall.Exact
			c.Pauses = append(slices.Clone(c.Pauses), c.Pauses[0])
			list[i] = c
		}
	}
	var out bytes.Buffer
	if err := readExperiment(t, list, Options{Warmup: warmup}).Print(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "not traced") {
		t.Errorf("exact pauses are called estimates:\n%s", out.String())
	}
}

// TestEstimatedPauses: lengths that only their sum is known of are said to be so.
func TestEstimatedPauses(t *testing.T) {
	list := experiment(20)
	n := 0
	for i, r := range list {
		c, ok := r.(recording.Collection)
		if !ok || c.Index%2 == 0 {
			continue
		}
		c.Fidelity = stall.Cycle
		c.Pauses = append(slices.Clone(c.Pauses), c.Pauses[0])
		list[i] = c
		if c.Start.Or(0) >= after {
			n += 2
		}
	}
	for warmup, want := range map[time.Duration]string{warmup: fmt.Sprint(n, " of these are of collections that were not traced"), time.Hour: ""} {
		var out bytes.Buffer
		if err := readExperiment(t, list, Options{Warmup: warmup}).Print(&out); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(out.String(), "not traced"); said != (want != "") || !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the report:\n%s", want, out.String())
		}
	}
}
