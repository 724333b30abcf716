package proc

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"
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
			self, err := ReadStat(root, "self")
			if err == nil {
				var at time.Time
				if at, err = StartTime(root, self.Created); err == nil {
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
	self, err := ReadStat(root, "self")
	if err != nil {
		t.Skipf("needs /proc: %v", err)
	}
	boot, err := StartTime(root, 0)
	if err != nil {
		t.Fatal(err)
	}
	started, err := StartTime(root, self.Created)
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

// TestParseStatOfYears: the time of a process is that of all its threads. On 256 CPUs it
// is 2^31 clock ticks after a day.
func TestParseStatOfYears(t *testing.T) {
	const user, system = 50 * 365 * 24 * 3600 * 100, 365 * 24 * 3600 * 100
	text := fmt.Sprintf("7 (shop) S 1 7 7 0 -1 0 0 0 0 0 %d %d 0 0 20 0 900 0 4711 0", uint64(user), uint64(system))
	got, err := ParseStat([]byte(text))
	if want := 51 * 365 * 24 * time.Hour; err != nil || got.CPU != want {
		t.Errorf("got %v of CPU time, %v, want %v", got.CPU, err, want)
	}
	text = fmt.Sprintf("7 (shop) S 1 7 7 0 -1 0 0 0 0 0 %d %d 0 0 20 0 900 0 4711 0", uint64(1<<62), uint64(1<<62))
	if got, err := ParseStat([]byte(text)); err != nil || got.CPU < 292*365*24*time.Hour {
		t.Errorf("got %v of CPU time, %v, want the most that there is", got.CPU, err)
	}
}

func FuzzParseStat(f *testing.F) {
	stat := "7 (.NET Server GC) S 1 7 7 0 -1 4194368 0 0 3 0 250 50 0 0 20 0 9 0 4711 0"
	f.Add([]byte(stat))
	f.Add([]byte("7 (a) b) S 1"))
	f.Add([]byte(")("))
	want := Stat{ID: 7, Name: ".NET Server GC", State: "S", MajorFaults: 3, CPU: 3 * time.Second, Threads: 9, Created: 4711}
	if got, err := ParseStat([]byte(stat)); err != nil || got != want {
		f.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := ParseStat(text); err == nil && (s.CPU < 0 || s.ID < 0) {
			t.Errorf("got %+v", s)
		}
	})
}

func TestAge(t *testing.T) {
	const stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 2\n"
	files := func(stat, uptime string) fstest.MapFS {
		return fstest.MapFS{"proc/7/stat": {Data: []byte(stat)}, "proc/uptime": {Data: []byte(uptime)}}
	}
	if got, err := Age(files(stat, "125.45 200.00\n"), "7"); err != nil || got.Round(time.Millisecond) != 2*time.Second {
		t.Errorf("got %v, %v, want 2s", got, err)
	}
	for _, bad := range [][2]string{{"", ""}, {"7 (a) S 1", "125.45 1"}, {stat, ""}, {stat, "x"}, {stat, "1.00 1"}, {stat, "NaN 1"}} {
		if got, err := Age(files(bad[0], bad[1]), "7"); err == nil {
			t.Errorf("Age of %q, %q: got %v", bad[0], bad[1], got)
		}
	}
	if got, err := Age(os.DirFS("/"), "self"); runtime.GOOS == "linux" && (err != nil || got > time.Since(time.Unix(0, 0))) {
		t.Errorf("this process: got %v, %v", got, err)
	}
}

// TestList: a directory is read up to a bound, and what is over it is said to be left.
func TestList(t *testing.T) {
	root := fstest.MapFS{"proc/7/task/7/stat": {}, "proc/7/task/8/stat": {}, "proc/7/stat": {}}
	for _, test := range []struct {
		name string
		most int
		want []string
		all  bool
		err  string
	}{
		{"proc/7/task", 2, []string{"7", "8"}, true, ""},
		{"proc/7/task", 1, []string{"7"}, false, ""},
		{"proc/8/task", 1, nil, false, "open /proc/8/task: file does not exist"},
		{"proc/7/stat", 1, nil, false, "list /proc/7/stat: not a directory"},
		{"../x", 1, nil, false, "open /../x: invalid argument"},
	} {
		got, all, err := List(root, test.name, test.most)
		if !slices.Equal(got, test.want) || all != test.all || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("list %s: got %q, %v, %v; want %q, %v, %s", test.name, got, all, err, test.want, test.all, test.err)
		}
	}
}

// TestProgramWithoutMemory: ESRCH means that the process has ended.
func TestProgramWithoutMemory(t *testing.T) {
	for _, f := range []fs.FS{refusing{open: true}, refusing{}} {
		if got, err := Program(f, "proc/1"); len(got) > 0 || err != nil {
			t.Errorf("%+v: %d bytes, %v, want none and no error", f, len(got), err)
		}
	}
}

// refusing says of each file that there is no such process.
type refusing struct{ open bool }

func (r refusing) Open(name string) (fs.File, error) {
	if r.open {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ESRCH}
	}
	return r, nil
}

func (refusing) Read([]byte) (int, error)   { return 0, syscall.ESRCH }
func (refusing) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
func (refusing) Close() error               { return nil }
