package report

import (
	"bytes"
	"encoding/csv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// twoProcesses collect for 100 ms of each of ten seconds, one behind the other.
func twoProcesses() []recording.Record {
	list := []recording.Record{
		place(), goTarget(),
		recording.Target{ID: 2, PID: 43, Runtime: "dotnet", Facts: map[string]string{"version": "10"}, At: begin},
	}
	one := func(target int, index uint64, start stall.Instant) recording.Collection {
		end := start.Add(100 * time.Millisecond)
		return recording.Collection{Target: target, Collection: gc.Collection{
			Index: index, Cycles: 1, Kind: gc.FullBlocking, Generation: gc.Known(2), Start: gc.Known(start), End: gc.Known(end),
			Pauses: []gc.Pause{{Start: start, End: end, EndMax: end, Suspend: gc.Known(time.Duration(0))}},
		}}
	}
	for i := range 10 {
		at := after.Add(time.Duration(i) * time.Second)
		list = append(list, one(1, uint64(100+i), at), one(2, uint64(5+i), at.Add(101*time.Millisecond)))
	}
	end := after.Add(10 * time.Second)
	return append(list, recording.Status{Source: "dotnet", Target: 2, At: end, Watermark: end}, recording.End{At: end})
}

// TestProcessesApart: what a recording says of a process is of no other, and of
// the results.
func TestProcessesApart(t *testing.T) {
	r := readExperiment(t, twoProcesses(), Options{Warmup: warmup})
	d := r
	if d.Summary != nil {
		t.Errorf("a summary of all processes: %+v", d.Summary)
	}
	for id, first := range map[int]uint64{1: 100, 2: 5} {
		s := d.Experiment.Summaries[id]
		if s.Pause != time.Second || s.PauseShare != gc.Known(0.1) || s.TimeInGC != gc.Known(0.1) || s.Before != gc.Known(first-1) || s.Assist != nil {
			t.Errorf("process %d: got %+v, want 10 %% of 10 s, and %d collections before", id, s, first-1)
		}
	}
	titles := func(id int) (list []string) {
		for _, row := range d.Experiment.Summaries[id].Rollup {
			list = append(list, row.Title)
		}
		return list
	}
	want := [][]string{{"all", "trigger unknown"}, {"all", "gen 2, blocking"}}
	if diff := cmp.Diff(want, [][]string{titles(1), titles(2)}); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for i, c := range d.Collections {
		if want := (gc.Maybe[float64]{}); i >= 2 && c.TimeInGC != gc.Known(0.1) || i < 2 && c.TimeInGC != want {
			t.Errorf("collection %d of process %d: %v of the time in GC", c.Index, c.Target, c.TimeInGC)
		}
	}
}

func TestRowsOfProcesses(t *testing.T) {
	r := readExperiment(t, twoProcesses(), Options{Warmup: warmup})
	var b bytes.Buffer
	if err := r.PrintCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	var got [][]string
	for _, row := range rows[1:] {
		got = append(got, []string{row[column["Target"]], row[column["PID"]], row[column["% Pause Time"]], row[column["% Time in GC"]]})
	}
	var want [][]string
	for _, process := range [][]string{{"1", "42"}, {"2", "43"}} {
		want = append(want, append(process, "", ""))
		for range 9 {
			want = append(want, []string{process[0], process[1], "10.0", "10.000"})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
