package stall

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ExampleShare_Explain() {
	s := Share{Total: 52 * time.Millisecond, AppOrHost: 1400 * time.Microsecond, Fidelity: Exact}
	s.Charged[Sched] = 38200 * time.Microsecond
	s.Charged[GCPause] = 12400 * time.Microsecond
	fmt.Println(s.Explain())
	// Output:
	// 52.0 ms: 38.2 ms waiting for a CPU (sched), 12.4 ms stopped for garbage collection (gc.pause), 1.40 ms in the program or the machine under it (app_or_host)
}

func TestExplain(t *testing.T) {
	pause := Share{Total: 3 * time.Second, Unseen: 2*time.Second + 999*time.Millisecond}
	pause.Charged[GCPause] = time.Millisecond
	many := Share{Total: 100, App: 1, AppOrHost: 2, Uncertain: 3, Fidelity: Exact}
	for c, d := range map[Cause]time.Duration{GCPause: 40, GCAssist: 30, Sched: 20, Queue: 4} {
		many.Charged[c] = d
	}
	for name, test := range map[string]struct {
		share Share
		want  string
	}{
		"empty":            {Share{}, "0 ns: 0 ns not seen"},
		"nothing was seen": {Share{Total: time.Second, Unseen: time.Second}, "1.00 s: 1.00 s not seen"},
		"cycle":            {pause, "3.00 s: 1.00 ms at most stopped for garbage collection (gc.pause); 3.00 s not seen"},
		"many": {many, "100 ns: 40 ns stopped for garbage collection (gc.pause), 30 ns marking for the garbage collector (gc.assist), " +
			"20 ns waiting for a CPU (sched), 4 ns on the way to the handler and back (queue), 6 ns other"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.share.Explain()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCauseWords: no cause of the closed list is without words.
func TestCauseWords(t *testing.T) {
	for c := GCPause; c < NumCauses; c++ {
		if causeWords[c] == "" {
			t.Errorf("%v has no words", c)
		}
	}
}
