package perf

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(a *area) (list []Record, missing bool) {
	missing = a.Read(func(r *Record) {
		c := *r
		c.Raw = append([]byte(nil), r.Raw...)
		list = append(list, c)
	})
	return list, missing
}

// A record wraps around the end of the ring wherever it may.
func TestReadAcrossTheEnd(t *testing.T) {
	want := []Record{
		{Kind: Switch, At: 100, TID: 7, CPU: 5, Out: true, Preempted: true},
		{Kind: Switch, At: 200, TID: 7, CPU: 5},
		{Kind: Sample, At: 300, TID: 7, CPU: 5, Event: 3, Raw: []byte{1, 2, 3, 4}},
		{Kind: Sample, At: 400, TID: 7, CPU: 5, Event: 4},
	}
	for gone := uint64(0); gone < 4096; gone += 8 {
		a := newArea(4096, gone)
		a.write(preempted(7, 100))
		a.write(record(typeSwitch, 0, trailer(7, 200)))
		a.write(sample(3, 300, []byte{1, 2, 3, 4}))
		a.write(sample(4, 400, nil))
		got, missing := read(a)
		if d := cmp.Diff(want, got); d != "" || missing {
			t.Fatalf("from byte %d: missing %v, records (-want +got):\n%s", gone, missing, d)
		}
	}
}

func TestReadTellsOfLoss(t *testing.T) {
	le := binary.LittleEndian
	a := newArea(4096, 0)
	a.write(record(typeLost, 0, append(le.AppendUint64(le.AppendUint64(nil, 1), 12), trailer(7, 100)...)))
	got, missing := read(a)
	want := []Record{{Kind: Loss, At: 100, TID: 7, CPU: 5, Lost: 12}}
	if d := cmp.Diff(want, got); d != "" || missing {
		t.Errorf("missing %v, records (-want +got):\n%s", missing, d)
	}
	for len(a.data)-int(*a.head-*a.tail) >= nearlyFull {
		a.write(preempted(7, 100))
	}
	if _, missing := read(a); !missing {
		t.Error("a full ring: nothing missing")
	}
}

// What is no record is skipped with all behind it, and told.
func TestReadNonsense(t *testing.T) {
	for name, b := range map[string][]byte{
		"no size":       make([]byte, 16),
		"odd size":      {9, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"beyond":        {9, 0, 0, 0, 0, 0, 240, 255},
		"short sample":  record(typeSample, 0, make([]byte, 8)),
		"long raw data": sample(1, 1, []byte{1, 2, 3, 4})[:48],
	} {
		if name == "long raw data" {
			b[6] = 48 // the size says where the record ends
			b[40] = 200
		}
		a := newArea(4096, 0)
		a.write(b)
		if got, missing := read(a); len(got) != 0 || !missing || *a.tail != *a.head {
			t.Errorf("%s: got %+v, missing %v, %d of %d bytes read", name, got, missing, *a.tail, *a.head)
		}
	}
}
