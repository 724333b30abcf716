package target

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
)

// guard is what is left out at both ends of a stop: an answer that was written
// before it is read a little later.
const guard = 500 * time.Microsecond

// checkAnswers: with one small request in flight, no answer arrives while the
// world stands still. It would, were the clocks not the same. An answer whose
// reader waited for a CPU for longer than the guard may have come earlier, and
// tells nothing. Where the process itself waited for CPUs, an answer that was on
// its way through write(2) when the threads were stopped may go on later, which
// stops of managed code do not keep it from: few do, and chance would be many.
func checkAnswers(t *testing.T, all *seen, answers []dotnettest.Response, waited time.Duration) {
	t.Helper()
	whole := answers[len(answers)-1].Received.Sub(answers[0].Sent)
	late := len(answers)
	answers = slices.DeleteFunc(answers, func(a dotnettest.Response) bool { return a.Waited > guard })
	late -= len(answers)
	var span time.Duration
	inside := 0
	for i := range all.Stops {
		s := &all.Stops[i]
		if s.Duration() <= 2*time.Millisecond {
			continue
		}
		from, to := s.Suspended.Add(guard), s.RestartBegin.Add(-guard)
		span += to.Sub(from)
		for _, a := range answers {
			if a.Received > from && a.Received < to {
				inside++
				t.Logf("answer at %d, %v late, inside %d to %d", a.Received, a.Waited, s.Suspended, s.RestartBegin)
			}
		}
	}
	expected := float64(len(answers)) * span.Seconds() / whole.Seconds()
	t.Logf("%d answers in %v, %d more too late to tell; %d inside stops, %.1f expected were the clocks unrelated",
		len(answers), whole, late, inside, expected)
	if expected < 5 {
		t.Skipf("the stops were too short to tell: %.1f answers expected inside", expected)
	}
	most := 0
	if waited > whole/20 {
		most = int(expected / 50)
		t.Logf("the process waited %v for CPUs: %d answers may have been under way", waited, most)
	}
	if inside > most {
		t.Errorf("%d answers arrived while the world stood still, at most %d may", inside, most)
	}
}

// runDelay returns how long the threads of a process have waited for a CPU: the
// second field of their schedstat.
func runDelay(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		var ran, waited int64
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(waited)
	}
	return sum
}
