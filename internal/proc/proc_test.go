package proc

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

const procStat = "cpu  1 2 3\nintr 5\nctxt 6\nbtime 1700000000\nprocesses 7\n"

func selfStat(start string) string {
	return "42 (a) b (c) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 9 0 " + start + " 1234 99\n"
}

func TestStart(t *testing.T) {
	for name, test := range map[string]struct{ self, stat, want string }{
		"there":     {selfStat("12345"), procStat, "2023-11-14T22:15:23.45Z"},
		"short":     {"42 (a) S 1", procStat, ""},
		"empty":     {"", procStat, ""},
		"no number": {selfStat("soon"), procStat, ""},
		"negative":  {selfStat("-1"), procStat, ""},
		"too large": {selfStat("9223372036854775807"), procStat, ""},
		"no btime":  {selfStat("1"), "cpu 1\n", ""},
		"bad btime": {selfStat("1"), "btime x\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/self/stat": {Data: []byte(test.self)}, "proc/stat": {Data: []byte(test.stat)}}
			var got string
			ticks, err := StartTicks(root, "self")
			if err == nil {
				var at time.Time
				if at, err = StartTime(root, ticks); err == nil {
					got = at.UTC().Format(time.RFC3339Nano)
				} else if !at.IsZero() {
					t.Errorf("%v and %v", at, err)
				}
			}
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestStartOfThis: this process was created before now and after the boot.
func TestStartOfThis(t *testing.T) {
	root := os.DirFS("/")
	ticks, err := StartTicks(root, "self")
	if err != nil {
		t.Skipf("needs /proc: %v", err)
	}
	boot, err := StartTime(root, 0)
	if err != nil {
		t.Fatal(err)
	}
	started, err := StartTime(root, ticks)
	// The boot time is in whole seconds.
	if err != nil || started.Before(boot) || started.After(time.Now().Add(2*time.Second)) {
		t.Errorf("started %v, %v, want between the boot %v and now", started, err, boot)
	}
}

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string][]int{
		"3": {3}, "0-2,8\n": {0, 1, 2, 8}, "4,1-2,2": {1, 2, 4}, "8190-8191": {8190, 8191},
		"a": nil, "2-1": nil, "1,": nil, "-1": nil, "8192": nil, "0-99999999999": nil, "0-8191,0-8191,0-8191": nil,
	} {
		got, err := ParseCPUs(text)
		if (err == nil) != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("list %q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, none := range []string{"", "\n", "(null)\n"} {
		if got, err := ParseCPUs(none); got != nil || err != nil {
			t.Errorf("list %q: got %v, %v, want none", none, got, err)
		}
	}
}
