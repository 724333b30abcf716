package gotrace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
)

// deep is a stack as deep as the format allows.
func deep(id int) string {
	return fmt.Sprintf("Stack id=%d nframes=%d\n", id, gotrace.MaxFrames) +
		strings.Repeat("pc=1 func=1 file=1 line=1\n", gotrace.MaxFrames)
}

// TestStacksTakeBoundedMemory: a stop is six bytes, and may name a stack of 128
// frames that take 16 bytes each. One that many stops name is there once, and
// all together are bounded.
func TestStacksTakeBoundedMemory(t *testing.T) {
	const stops = 100
	data := assemble(t, "@gen 1\n@m 1 100\nGoStatus dt=0 g=1 m=1 gstatus=2\n"+
		strings.Repeat("STWBegin dt=1 kind_string=1 stack=1\nSTWEnd dt=1\n", stops)+
		"STWBegin dt=1 kind_string=1 stack=2\nSTWEnd dt=1\n"+
		"@tables\nStacks\n"+deep(1)+deep(2)+reasons+"@end")
	err := all(t, data, gotrace.Options{Limits: gotrace.Limits{Records: 2*gotrace.MaxFrames - 1}}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		if len(g.Stops) != stops+1 {
			t.Fatalf("got %d stops, want %d", len(g.Stops), stops+1)
		}
		for i := range g.Stops[:stops] {
			if s := g.Stops[i].Stack; len(s) != gotrace.MaxFrames || &s[0] != &g.Stops[0].Stack[0] {
				t.Fatalf("stop %d has a stack of its own, or of %d frames", i, len(s))
			}
		}
		if last := g.Stops[stops]; last.Stack != nil || last.Caller != "" || (g.Lost != gotrace.Lost{Stacks: 1}) {
			t.Errorf("over the limit: %d frames by %q, lost %+v, want none, and one stack lost", len(last.Stack), last.Caller, g.Lost)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
