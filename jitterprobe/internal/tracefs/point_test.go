package tracefs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const softirqFormat = `name: softirq_entry
ID: 223
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:unsigned int vec;	offset:8;	size:4;	signed:0;
	field:char other[16];	offset:12;	size:16;	signed:1;

print fmt: "vec=%u", REC->vec
`

func TestPoints(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"softirq_entry/id": "223\n", "softirq_entry/format": softirqFormat,
		"broken/id": "many\n", "broken/format": softirqFormat,
		"plain/id": "7\n", "plain/format": "name: plain\n",
		"enable": "0\n",
	} {
		path := filepath.Join(root, "sys/kernel/tracing/events/irq", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []Point{
		{Group: "irq", Name: "plain", Number: 7},
		{Group: "irq", Name: "softirq_entry", Number: 223, Fields: []Field{{"vec", 8, 4}, {"other", 12, 16}}},
	}
	if d := cmp.Diff(want, f.Points("irq")); d != "" {
		t.Errorf("points (-want +got):\n%s", d)
	}
	if got := f.Points("nmi"); len(got) != 0 {
		t.Errorf("a group that is not there: got %v", got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// The machine's own, mounted or not.
func TestOpenThisMachine(t *testing.T) {
	f, err := Open("/")
	if err != nil {
		t.Skipf("needs tracefs, or CAP_SYS_ADMIN to mount it: %v", err)
	}
	var entry Point
	for _, p := range f.Points("irq") {
		if p.Name == "softirq_entry" {
			entry = p
		}
	}
	if entry.Number == 0 || entry.Field("vec", 4) == 0 || entry.Field("vec", 8) != 0 {
		t.Errorf("softirq_entry: got %+v, want a number, and vec of 4 bytes", entry)
	}
	turn, err := f.Point("sched", "sched_switch")
	if err != nil || turn.Field("next_comm", 16) == 0 || turn.Field("next_pid", 4) == 0 || turn.Field("next_prio", 4) == 0 || turn.Field("prev_state", 8) == 0 {
		t.Errorf("sched_switch: got %+v, %v, want the next thread's name, number and priority, and the state of the one before", turn, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
