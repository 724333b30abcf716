package hostcount

import (
	"errors"
	"testing"
	"testing/fstest"
)

func TestReadOfWhoIsNotThere(t *testing.T) {
	for pid, want := range map[int]error{8: ErrProcess, 9: nil, -1: ErrProcess} {
		_, err := Open(machine(nil), pid)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("process %d: got error %v, want %v", pid, err, want)
		}
	}
}

func TestReadOfAnother(t *testing.T) {
	root := machine(nil)
	p, err := Open(root, 7)
	if err != nil {
		t.Fatal(err)
	}
	p.stat.close() // a file of /proc is that of the process it was opened for
	root["proc/7/stat"] = &fstest.MapFile{Data: []byte("7 (a) S 1 2 3 4 5 6 7 8 90 10 11 12 13 14 15 16 17 18 5555 20 21\n")}
	if _, err := p.Read(ticking(), 0); !errors.Is(err, ErrProcess) {
		t.Errorf("another process of the number: got error %v, want %v", err, ErrProcess)
	}
}

// TestWhoWaitsForItsParent: a process that has ended is not left alone by the
// machine, even while its number is not free. A first thread that ended before the
// others says the same of itself.
func TestWhoWaitsForItsParent(t *testing.T) {
	stat := func(state, threads string) string {
		return "7 (a) " + state + " 1 2 3 4 5 6 7 8 90 10 11 12 13 14 15 16 " + threads + " 18 4242 20 21\n"
	}
	for _, test := range []struct {
		state, threads string
		ended          bool
	}{{"S", "1", false}, {"Z", "3", false}, {"Z", "1", true}, {"Z", "0", true}, {"X", "1", true}} {
		root := machine(map[string]string{"proc/7/stat": stat("R", "3")})
		p, err := Open(root, 7)
		if err != nil {
			t.Fatal(err)
		}
		root["proc/7/stat"] = &fstest.MapFile{Data: []byte(stat(test.state, test.threads))}
		p.stat.close()
		if _, err := p.Read(ticking(), 0); errors.Is(err, ErrProcess) != test.ended {
			t.Errorf("state %s with %s threads: got %v, want that it has ended: %t", test.state, test.threads, err, test.ended)
		}
		if _, err := Open(root, 7); errors.Is(err, ErrProcess) != test.ended {
			t.Errorf("state %s with %s threads: opened with %v, want that it has ended: %t", test.state, test.threads, err, test.ended)
		}
		p.Close()
	}
}
