package gotrace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestCallbacksFromC: two threads of C call into Go, one after the other, and
// borrow the same thread of the runtime: its goroutine is created twice, and
// its sequence numbers begin anew.
func TestCallbacksFromC(t *testing.T) {
	const call = `
GoCreateSyscall dt=0 new_g=7
GoSyscallEndBlocked dt=10
GoStart dt=10 g=7 g_seq=1
UserLog dt=0 task=0 key_string=3 value_string=0 stack=0
GoBlock dt=20 reason_string=1 stack=0
GoUnblock dt=30 g=7 g_seq=2 stack=0
GoStart dt=10 g=7 g_seq=3
GoSyscallBegin dt=40 p_seq=1 stack=0
GoDestroySyscall dt=50
`
	data := assemble(t, "@gen 1\n@m 2 1000"+call+"@m 1 100"+call+reasons+"@end")
	var want []gotrace.TrackSpan
	for _, at := range []stall.Instant{100, 1000} {
		want = append(want,
			span(at, at+10, stall.StateParked, "syscall"), span(at+10, at+20, stall.StateRunnable, ""),
			span(at+20, at+40, stall.StateRunning, ""), span(at+40, at+70, stall.StateParked, "chan receive"),
			span(at+70, at+80, stall.StateRunnable, ""), span(at+80, at+120, stall.StateRunning, ""),
			span(at+120, at+170, stall.StateParked, "syscall"))
	}
	err := all(t, data, gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		if diff := cmp.Diff([]laid{{Goroutine: 7, Ended: true, Spans: want}}, layOut(g)); diff != "" {
			t.Errorf("tracks (-want +got):\n%s", diff)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
