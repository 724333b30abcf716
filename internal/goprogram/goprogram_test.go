package goprogram

import (
	"testing"
)

func TestProcs(t *testing.T) {
	built := func(debug string) map[string]string { return map[string]string{"DefaultGODEBUG": debug} }
	for _, test := range []struct {
		name    string
		process Program
		cpus    int
		quota   float64
		want    int
	}{
		{"as many as CPUs", Program{Version: "go1.26.8"}, 8, 0, 8},
		{"as told", Program{Version: "go1.26.8", Env: map[string]string{"GOMAXPROCS": "3"}}, 8, 1, 3},
		{"told nonsense", Program{Version: "go1.26.8", Env: map[string]string{"GOMAXPROCS": "-1"}}, 8, 0, 8},
		{"told too much", Program{Version: "go1.26.8", Env: map[string]string{"GOMAXPROCS": "99999999999"}}, 8, 0, 8},
		{"the quota, rounded up", Program{Version: "go1.25"}, 8, 2.5, 3},
		{"two at least", Program{Version: "go1.25.3"}, 8, 0.5, 2},
		{"one CPU", Program{Version: "go1.25.3"}, 1, 0.5, 1},
		{"a large quota", Program{Version: "go1.26.8"}, 8, 1e300, 8},
		{"before Go 1.25", Program{Version: "go1.24.9"}, 8, 2, 8},
		{"not released", Program{Version: "devel go1.27-5401ec7d21 Sun Nov 22 08:00:00 2026 +0000"}, 8, 2, 2},
		{"built for an older Go", Program{Version: "go1.26.8", Settings: built("containermaxprocs=0,x=1")}, 8, 2, 8},
		{"switched on again", Program{Version: "go1.26.8", Settings: built("containermaxprocs=0"), Env: map[string]string{"GODEBUG": "containermaxprocs=1"}}, 8, 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.process.Procs(test.cpus, test.quota); got != test.want {
				t.Errorf("GOMAXPROCS: got %d, want %d", got, test.want)
			}
		})
	}
}
