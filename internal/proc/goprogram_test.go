package proc

import (
	"testing"
	"testing/fstest"
)

func TestProcs(t *testing.T) {
	built := func(debug string) map[string]string { return map[string]string{"DefaultGODEBUG": debug} }
	for _, test := range []struct {
		name    string
		process GoProgram
		cpus    int
		quota   float64
		want    int
	}{
		{"as many as CPUs", GoProgram{Version: "go1.26.8"}, 8, 0, 8},
		{"as told", GoProgram{Version: "go1.26.8", Env: map[string]string{"GOMAXPROCS": "3"}}, 8, 1, 3},
		{"told nonsense", GoProgram{Version: "go1.26.8", Env: map[string]string{"GOMAXPROCS": "-1"}}, 8, 0, 8},
		{"told too much", GoProgram{Version: "go1.26.8", Env: map[string]string{"GOMAXPROCS": "99999999999"}}, 8, 0, 8},
		{"the quota, rounded up", GoProgram{Version: "go1.25"}, 8, 2.5, 3},
		{"two at least", GoProgram{Version: "go1.25.3"}, 8, 0.5, 2},
		{"one CPU", GoProgram{Version: "go1.25.3"}, 1, 0.5, 1},
		{"a large quota", GoProgram{Version: "go1.26.8"}, 8, 1e300, 8},
		{"before Go 1.25", GoProgram{Version: "go1.24.9"}, 8, 2, 8},
		{"not released", GoProgram{Version: "devel go1.27-5401ec7d21 Sun Nov 22 08:00:00 2026 +0000"}, 8, 2, 2},
		{"built for an older Go", GoProgram{Version: "go1.26.8", Settings: built("containermaxprocs=0,x=1")}, 8, 2, 8},
		{"switched on again", GoProgram{Version: "go1.26.8", Settings: built("containermaxprocs=0"), Env: map[string]string{"GODEBUG": "containermaxprocs=1"}}, 8, 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.process.Procs(test.cpus, test.quota); got != test.want {
				t.Errorf("GOMAXPROCS: got %d, want %d", got, test.want)
			}
		})
	}
}

func TestCPUs(t *testing.T) {
	for _, test := range []struct {
		name, status, online string
		want                 int
	}{
		{"some", "Cpus_allowed_list:\t0-3,8\n", "0-15\n", 5},
		{"some that are not there", "Name:\tx\nCpus_allowed_list:\t0-127\n", "0-3\n", 4},
		{"nobody says what is online", "Cpus_allowed_list:\t0-3\n", "", 4},
		{"no line", "Name:\tx\n", "0-3\n", 0},
		{"nonsense", "Cpus_allowed_list:\tall\n", "0-3\n", 0},
		{"absurd", "Cpus_allowed_list:\t0-99999999\n", "0-3\n", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := fstest.MapFS{"proc/7/status": {Data: []byte(test.status)}}
			if test.online != "" {
				root["sys/devices/system/cpu/online"] = &fstest.MapFile{Data: []byte(test.online)}
			}
			got, err := CPUs(root, "7")
			if len(got) != test.want || (err == nil) != (test.want > 0) {
				t.Errorf("got %d, %v, want %d", got, err, test.want)
			}
		})
	}
}
