package hostcount

import (
	"maps"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPressure: that of the machine, and that of the process's own cgroup where
// it has one of cgroup v2, beside cgroup v1 too.
func TestPressure(t *testing.T) {
	const line = "some avg10=0.00 avg60=0.00 avg300=0.00 total="
	own := map[string]string{
		"sys/fs/cgroup/a/b/cgroup.events":   "populated 1\n",
		"sys/fs/cgroup/a/b/cpu.pressure":    line + "11\n",
		"sys/fs/cgroup/a/b/memory.pressure": line + "12\n",
		"sys/fs/cgroup/a/b/io.pressure":     line + "13\n",
	}
	const us = time.Microsecond
	group := Pressure{11 * us, 12 * us, 13 * us}
	for _, test := range []struct {
		name  string
		files map[string]string
		want  Pressure
		known bool
	}{
		{"no files", nil, Pressure{}, false},
		{"its own", own, group, true},
		{"beside v1", with(own, map[string]string{
			"proc/7/cgroup":       "2:cpu:/x\n0::/a/b\n",
			"proc/self/mountinfo": "31 20 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		}), group, true},
		{"at the top", map[string]string{"proc/7/cgroup": "0::/\n", "sys/fs/cgroup/cpu.pressure": line + "77\n"}, Pressure{}, false},
		{"a kernel without", map[string]string{"sys/fs/cgroup/a/b/cgroup.events": "populated 1\n"}, Pressure{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Open(machine(test.files), 7)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if diff := cmp.Diff(Pressure{77 * us, 8 * us, 9 * us}, p.Pressure()); diff != "" {
				t.Errorf("of the machine (-want +got):\n%s", diff)
			}
			got, known := p.GroupPressure()
			if diff := cmp.Diff(test.want, got); diff != "" || known != test.known {
				t.Errorf("of the cgroup: known %v, want %v (-want +got):\n%s", known, test.known, diff)
			}
		})
	}
}

func with(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// TestPressureThroughAGap: a file that cannot be read for once says what it said.
func TestPressureThroughAGap(t *testing.T) {
	root := machine(nil)
	p, err := Open(root, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := p.Pressure()
	for _, text := range []string{"", "some total=much\n", "some total=77"} {
		root["proc/pressure/io"] = &fstest.MapFile{Data: []byte(text)}
		p.pressed.close()
		if text == "some total=77" {
			want.IO = 77 * time.Microsecond
		}
		if diff := cmp.Diff(want, p.Pressure()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if got := (Pressure{5, 6, 7}).Since(Pressure{1, 9, 7}); got != (Pressure{CPU: 4}) {
		t.Errorf("difference: got %+v, want 4 of the CPU", got)
	}
}
