package attribution

import (
	"testing"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestLookedAgain: a span that found a process looks again when that proves not to be
// its own, and nobody came or went.
func TestLookedAgain(t *testing.T) {
	for name, x := range map[string]struct {
		before, after func(s *sender, a *Attributor)
	}{
		"otelgc is in it, and names another host": {
			func(s *sender, a *Attributor) { a.Learn(s.status(stall.Dotnet, 160*sec)) },
			func(s *sender, a *Attributor) { a.Learn(s.status(stall.GCWatch, 160*sec)) },
		},
		"it had ended": {
			func(s *sender, a *Attributor) {
				a.Learn(s.collection(stall.Dotnet, 1, 100*sec, 100*sec+ms, 0))
				s.pid = 77
				a.Learn(s.status(stall.Dotnet, 160*sec))
				s.pid = 42
			},
			func(s *sender, a *Attributor) { a.Learn(s.status(stall.Dotnet, 101*sec)) },
		},
	} {
		s, a := newSender(), New(Config{})
		s.with = m{semconv.AttrHostName: "theirs"}
		span := &held{id: wire.Identity{Boot: boot, PID: 42, HostName: "ours"}, begin: 150*sec + offset}
		x.before(s, a)
		if a.known.look(span); span.found.process == nil {
			t.Fatalf("%s: the process is not found before", name)
		}
		x.after(s, a)
		if a.known.look(span); span.found.process != nil {
			t.Errorf("%s: the span is of process %+v, want of none", name, span.found.process.id)
		}
	}
}
