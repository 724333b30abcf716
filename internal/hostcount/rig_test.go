package hostcount

import (
	"strings"
	"testing/fstest"

	"github.com/otelgc/otelgc/stall"
)

// machine is a root with process 7, whose name tries to be fields.
func machine(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range map[string]string{
		"proc/7/stat":                "7 (a) R 1 (b) S 1 2 3 4 5 6 7 8 90 10 11 12 13 14 15 16 17 18 4242 20 21\n",
		"proc/7/cgroup":              "0::/a/b\n",
		"proc/self/mountinfo":        "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/a/b/cpu.stat": "nr_throttled 3\nthrottled_usec 1500\n",
		"sys/fs/cgroup/a/cpu.stat":   "nr_throttled 1\nthrottled_usec 500\n",
		"proc/stat":                  "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
		"proc/pressure/cpu":          "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.00 total=5\n",
		"proc/pressure/memory":       "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\nfull avg10=0.00 total=5\n",
		"proc/pressure/io":           "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 total=5\n",
		"proc/7/task/7/schedstat":    "100 200 3\n",
		"proc/7/task/8/schedstat":    "10 50 3\n",
		"proc/7/task/8/stat":         "8 (w) D" + strings.Repeat(" 0", 20) + "\n",
		"proc/9/stat":                "9 (short) S 1\n",
	} {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func ticking() func() stall.Instant {
	now := stall.Instant(0)
	return func() stall.Instant { now++; return now }
}
