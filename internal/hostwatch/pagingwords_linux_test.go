package hostwatch

import (
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestPagingInWords: a process that has less memory than it looks at stands still
// for its disk. That time is host.fault of scope target, and a pause that is long
// by it is called paging.
func TestPagingInWords(t *testing.T) {
	r := startReader(t)
	l := &log{}
	w := start(t, Options{PID: r.pid}, l)
	var usual slowed.Usual
	judge := func(which string) *gc.Collection {
		s := r.round(which)
		c := &gc.Collection{
			Cycles: 1, Kind: gc.Background, Start: gc.Known(s.Start), End: gc.Known(s.End),
			Pauses: []gc.Pause{{Start: s.Start, End: s.End, EndMax: s.End, HostDuring: w.During(s)}},
		}
		usual.Classify(c)
		return c
	}
	r.round("near") // brings them into memory
	for range 30 {
		judge("near")
	}
	proven := false // that a round waited for pages for half of its time
	for since := time.Now(); !proven; {
		c := judge("far")
		during, total := c.Pauses[0].HostDuring, w.Totals()
		page, cpu := during.PageWait.Or(0), during.CPUWait.Or(0)
		proven = page > cpu && page+cpu >= c.PauseTotal()/2
		if words := c.Slowed(); proven && (!strings.HasPrefix(words, "paging: paused ") || !strings.HasSuffix(words, " of it waiting for pages from disk")) {
			t.Errorf("paused %v, usual %v, %+v: got %v, in words %q", c.PauseTotal(), c.UsualPause.Or(0), during, c.SlowedBy, words)
		}
		t.Logf("paused %v, %v of it for pages, %d major faults: %s", c.PauseTotal(), page, during.MajorFaults.Or(0), c.Slowed())
		if !proven && time.Since(since) > 3*time.Minute {
			if total.MajorFaults > 0 {
				t.Skipf("%d pages came from disk, %v were spent waiting for them: the disk is faster than the kernel's own work for a page", total.MajorFaults, total.Paged)
			}
			t.Skipf("no page came from disk, though the file has %d bytes and the child may have %d: its files are in memory here", filePages*pageSize, memoryLimit)
		}
	}
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	var faulted time.Duration
	for i := range l.batches {
		for _, v := range l.batches[i].Denied {
			if v.Cause != stall.HostFault {
				continue
			}
			faulted += v.Duration()
			if v.Scope != stall.ScopeTarget || v.Owner.PID != int32(r.pid) {
				t.Errorf("%+v is not of scope target", v)
			}
		}
	}
	t.Logf("host.fault for %v", faulted)
	if faulted == 0 {
		t.Error("no time is host.fault")
	}
}
