package dotnetgc

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// openStop is a stop that is being followed.
type openStop struct {
	Stop
	backing bool // its thread backs off: the next GCRestartEEEnd ends that
	lossy   bool // events were lost in it: another collection may have begun
	ran     []*collection
}

// empty reports whether the stop was for a collection, was seen whole, and had
// none in it. So begins a no-GC region for which there is room: the runtime
// counts a collection, and does not make it (runtime, src/coreclr/gc/
// interface.cpp, GarbageCollectGeneration, update_collection_counts_for_no_gc).
// GC.RefreshMemoryLimit stops the world so, too, and counts none.
func (s *openStop) empty() bool {
	return s.Reason == ForGC && len(s.ran) == 0 && !s.lossy && s.Incomplete == ""
}

// enter notes that c runs in s. What has too many of the other is given up.
func (m *Model) enter(c *collection, s *openStop) {
	switch {
	case len(c.stops) == maxStopsOfCollection:
		m.stats.Dropped++
		c.tooMany = true
		m.finish(c)
		return
	case len(s.ran) == maxCollectionsOfStop:
		m.stats.Dropped++
		s.Incomplete = "too many collections began in it"
		m.endStop(s)
		return
	}
	c.stops = append(c.stops, s)
	s.ran = append(s.ran, c)
	c.lossy = c.lossy || s.lossy
	s.Collections = append(s.Collections, c.number)
}

// pauses returns the stops, or parts of stops, that are charged to c.
func (c *collection) pauses() []gc.Pause {
	var list []gc.Pause
	for _, s := range c.stops {
		if p, charged := s.pauseOf(c); charged {
			list = append(list, p)
		}
	}
	return list
}

// pauseOf returns what of s is charged to a collection: all of it, but nothing
// to a background one that has others with it, as the runtime itself has it
// (runtime, src/coreclr/gc/collect.cpp, add_bgc_pause_duration_0). Several
// others, of which all but the first are PMFullGC, share it: each begins where
// the next one starts.
func (s *openStop) pauseOf(c *collection) (gc.Pause, bool) {
	if s.RestartBegin == 0 {
		return gc.Pause{}, false
	}
	charged := slices.DeleteFunc(slices.Clone(s.ran), func(o *collection) bool { return o.typ == BackgroundGC })
	if len(charged) == 0 {
		charged = s.ran[len(s.ran)-1:]
	}
	at := slices.Index(charged, c)
	if at < 0 {
		return gc.Pause{}, false
	}
	p := s.pause()
	if at > 0 {
		p.Start, p.Suspend = charged[at].start, gc.Maybe[time.Duration]{}
	}
	if at < len(charged)-1 {
		p.End = charged[at+1].start
		p.EndMax = p.End
	}
	return p, true
}
