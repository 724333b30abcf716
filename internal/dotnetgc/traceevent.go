package dotnetgc

import "time"

// TraceEventPause returns the pause of c as TraceEvent computes it, and
// PerfView's GCStats with it, and whether that can be computed (microsoft/
// perfview, src/TraceEvent/Computers/TraceManagedProcess.cs, GCStart and
// GCRestartEEStop). It differs from PauseTotal: a pause lasts until
// GCRestartEEEnd; one of an ephemeral collection at the start of a background
// one, and of a PMFullGC, begins at GCStart, and the background one gets the
// time to suspend; of one that was announced as background and ran blocking,
// only the time to suspend counts; one that a PMFullGC follows in its stop has
// none.
func (c *Collection) TraceEventPause() (time.Duration, bool) {
	if len(c.Stops) == 0 {
		return 0, false
	}
	var sum time.Duration
	for i := range c.Stops {
		s := &c.Stops[i]
		shared := len(s.Collections) > 1
		cut := c.Type != BackgroundGC && shared && s.Collections[len(s.Collections)-1] != c.Index
		if s.RestartEnd == 0 || s.Suspended == 0 || cut {
			return 0, false
		}
		end, ended := c.End.Get()
		switch {
		case c.Type != BackgroundGC && (shared && s.Collections[0] != c.Index || c.Reason == PMFullGC):
			sum += s.RestartEnd.Sub(c.Start.Or(s.Begin))
		case c.Type == BackgroundGC && i == 0 && (shared || ended && end < s.RestartEnd):
			sum += s.Suspended.Sub(s.Begin)
		default:
			sum += s.RestartEnd.Sub(s.Begin)
		}
	}
	return sum, true
}
