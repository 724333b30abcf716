package gotrace

import "testing"

// TestRestartIn: the world runs again when another thread takes a P after the
// last instant at which none had one, or after one that is known to be such.
func TestRestartIn(t *testing.T) {
	const own = 1
	took := func(at ticks, thread uint64) handoff { return handoff{at, thread, true} }
	lost := func(at ticks, thread uint64) handoff { return handoff{at, thread, false} }
	for name, c := range map[string]struct {
		list    []handoff
		stopped ticks
		want    ticks
	}{
		"nobody else":                         {nil, 0, 0},
		"its own thread is not another":       {[]handoff{lost(10, 2), took(20, own)}, 0, 0},
		"stopped and started":                 {[]handoff{lost(10, 2), took(50, 2)}, 0, 50},
		"two, one after the other":            {[]handoff{lost(10, 2), lost(11, 3), took(50, 3), took(51, 2)}, 0, 50},
		"another thread has the P then":       {[]handoff{lost(10, 2), took(50, 7)}, 0, 50},
		"started while it was being stopped":  {[]handoff{took(5, 3), lost(10, 2), lost(11, 3), took(50, 3)}, 0, 50},
		"and nobody ran when it began":        {[]handoff{took(5, 3), lost(11, 3), took(50, 3)}, 0, 50},
		"never started again before its end":  {[]handoff{took(5, 3), lost(11, 3)}, 0, 0},
		"idle in between: the last is sure":   {[]handoff{lost(10, 2), took(50, 2), lost(60, 2), took(70, 2)}, 0, 70},
		"the same, where it is known stopped": {[]handoff{lost(10, 2), took(50, 2), lost(60, 2), took(70, 2)}, 30, 50},
		"known stopped, not started":          {[]handoff{took(5, 3), lost(10, 3)}, 30, 0},
	} {
		if got := restartIn(c.list, own, c.stopped); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
