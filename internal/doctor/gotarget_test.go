package doctor

import "testing"

func TestProcs(t *testing.T) {
	for _, test := range []struct {
		name    string
		process goProcess
		cpus    int
		quota   float64
		want    int
	}{
		{"as many as CPUs", goProcess{version: "go1.26.8"}, 8, 0, 8},
		{"as told", goProcess{version: "go1.26.8", env: map[string]string{"GOMAXPROCS": "3"}}, 8, 1, 3},
		{"told nonsense", goProcess{version: "go1.26.8", env: map[string]string{"GOMAXPROCS": "-1"}}, 8, 0, 8},
		{"the quota, rounded up", goProcess{version: "go1.25"}, 8, 2.5, 3},
		{"two at least", goProcess{version: "go1.25.3 X:jsonv2"}, 8, 0.5, 2},
		{"one CPU", goProcess{version: "go1.25.3"}, 1, 0.5, 1},
		{"a large quota", goProcess{version: "go1.26.8"}, 8, 1e300, 8},
		{"before Go 1.25", goProcess{version: "go1.24.9"}, 8, 2, 8},
		{"built for an older Go", goProcess{version: "go1.26.8", debug: "containermaxprocs=0,x=1"}, 8, 2, 8},
		{"switched on again", goProcess{version: "go1.26.8", debug: "containermaxprocs=0", env: map[string]string{"GODEBUG": "containermaxprocs=1"}}, 8, 2, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.process.procs(test.cpus, test.quota); got != test.want {
				t.Errorf("GOMAXPROCS: got %d, want %d", got, test.want)
			}
		})
	}
}
