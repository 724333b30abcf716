package hostcount

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestRead(t *testing.T) {
	root := machine(nil)
	p, err := Open(root, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if want := (stall.Owner{PID: 7, Created: 4242}); p.Owner() != want {
		t.Errorf("owner: got %+v, want %+v", p.Owner(), want)
	}
	got, err := p.Read(ticking(), 10)
	if err != nil {
		t.Fatal(err)
	}
	want := Reading{
		Span:     stall.Span{Start: 1, End: 2},
		Counts:   Counts{MajorFaults: 90, Throttled: gc.Known(2 * time.Millisecond), Throttlings: 4, Stolen: 80 * time.Millisecond},
		RunDelay: gc.Known(250 * time.Nanosecond), Threads: 2,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(gc.Maybe[time.Duration]{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err = p.Read(ticking(), 1); err != nil || !got.RunDelay.IsZero() {
		t.Errorf("run delay of more threads than the limit: got %v, %v, want none", got.RunDelay, err)
	}
	if got, err := p.State("8"); got != "D" || err != nil {
		t.Errorf("state: got %q, %v, want D", got, err)
	}
}

// TestReadThroughAGap: throttling that cannot be read for once does not count
// anew when it can.
func TestReadThroughAGap(t *testing.T) {
	root := machine(nil)
	p, err := Open(root, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const own = "sys/fs/cgroup/a/b/cpu.stat"
	for i, test := range []struct {
		text string
		want time.Duration
	}{
		{"nr_throttled 3\nthrottled_usec 1500\n", 2000 * time.Microsecond},
		{"", 2000 * time.Microsecond},
		{"nr_throttled 4\nthrottled_usec 1600\n", 2100 * time.Microsecond},
	} {
		root[own] = &fstest.MapFile{Data: []byte(test.text)}
		got, err := p.Read(ticking(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got.Throttled != gc.Known(test.want) {
			t.Errorf("read %d: throttled %v, want %v", i, got.Throttled, test.want)
		}
	}
}

// TestThrottlingOfAnother: from a container the cgroup of a process outside of it
// cannot be seen. The reader's own, which is mounted, says nothing of it.
func TestThrottlingOfAnother(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"v2, a namespace of its own": {
			"proc/7/cgroup": "0::/../../podT/cri-T\n", "sys/fs/cgroup/cpu.stat": "nr_throttled 5\nthrottled_usec 777000\n",
			"sys/fs/cgroup/cgroup.events": "populated 1\n", "sys/fs/cgroup/cpu.pressure": "some total=7\n",
		},
		"v1, a container": {
			"proc/7/cgroup":              "2:cpu,cpuacct:/docker/target\n",
			"proc/self/mountinfo":        "32 20 0:28 /docker/sidecar /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
			"sys/fs/cgroup/cpu/cpu.stat": "nr_throttled 5\nthrottled_time 777000000\n",
		},
	} {
		p, err := Open(machine(files), 7)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		got, err := p.Read(ticking(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Throttled.IsZero() {
			t.Errorf("%s: throttled %v, want nothing known", name, got.Throttled)
		}
		if got, known := p.GroupPressure(); known {
			t.Errorf("%s: pressure of its cgroup %v, want nothing known", name, got)
		}
		var h History
		h.Add(got)
		h.Add(Reading{Span: stall.Span{Start: 100, End: 101}, Counts: got.Counts})
		if d := h.During(stall.Span{Start: 50, End: 60}); !d.Throttled.IsZero() || d.MajorFaults.IsZero() {
			t.Errorf("%s: during a pause: %+v, want faults and no throttling known", name, d)
		}
	}
}

func TestFrozen(t *testing.T) {
	const events = "sys/fs/cgroup/a/b/cgroup.events"
	root := machine(map[string]string{events: "populated 1\nfrozen 0\n"})
	p, err := Open(root, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, want := range []bool{false, true, false} {
		if root[events].Data = []byte("populated 1\nfrozen 0\n"); want {
			root[events].Data = []byte("populated 1\nfrozen 1\n")
		}
		p.freezers[0].file.close() // a file of the kernel tells what is now
		got, err := p.Read(ticking(), 0)
		if err != nil || got.Frozen != want {
			t.Errorf("frozen: got %v, %v, want %v", got.Frozen, err, want)
		}
	}
}

// TestMachineThroughAGap is the same of what is counted of the machine.
func TestMachineThroughAGap(t *testing.T) {
	root := machine(nil)
	p, err := Open(root, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, test := range []struct{ name, stat, pressure string }{
		{"good", "cpu  1 2 3 4 5 6 7 8 9 10\n", "some avg10=0.00 total=77\n"},
		{"absent", "", ""},
		{"nonsense", "cpu  1 2\n", "some total=much\n"},
		{"good again", "cpu  1 2 3 4 5 6 7 9 9 10\n", "some avg10=0.00 total=77\n"},
	} {
		for name, text := range map[string]string{"proc/stat": test.stat, "proc/pressure/cpu": test.pressure} {
			root[name] = &fstest.MapFile{Data: []byte(text)}
			if text == "" {
				delete(root, name)
			}
		}
		p.machine.close()
		p.pressed.close()
		got, err := p.Read(ticking(), 0)
		if err != nil {
			t.Fatal(err)
		}
		want := 80 * time.Millisecond
		if test.name == "good again" {
			want += proc.Tick
		}
		if got.Stolen != want || p.Pressure().CPU != 77*time.Microsecond {
			t.Errorf("%s: stolen %v, pressure %v, want %v and 77µs", test.name, got.Stolen, p.Pressure().CPU, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add("7 (a) R 1 (b) S 1 2 3 4 5 6 7 8 90 10 11 12 13 14 15 16 17 18 4242\n", "1 2 3", "cpu 1", "some total=1")
	f.Add(")", "", "", "total=99999999999999999999")
	f.Fuzz(func(t *testing.T, stat, schedstat, machineStat, pressure string) {
		root := machine(map[string]string{
			"proc/7/stat": stat, "proc/7/task/7/schedstat": schedstat, "proc/stat": machineStat, "proc/pressure/cpu": pressure,
		})
		p, err := Open(root, 7)
		if (err == nil) == (p == nil) {
			t.Fatalf("process %v and error %v", p, err)
		}
		if err != nil {
			return
		}
		r, err := p.Read(ticking(), 10)
		if err == nil && (r.Stolen < 0 || r.Throttled.Or(0) < 0 || r.RunDelay.Or(0) < 0 || p.Pressure().CPU < 0) {
			t.Errorf("%+v", r)
		}
	})
}
