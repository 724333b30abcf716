package hostwatch

import (
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestJudgesUpToTheCounters: what the counters cannot tell of any more is left to
// the next batch, however long the watch is held up between the two.
func TestJudgesUpToTheCounters(t *testing.T) {
	w := still(t, child(t, "sleep", -1), os.DirFS("/"))
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	now, err := w.process.Read(w.o.Clock.Now, 0)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * holdBack)
	var b Observations
	if err := w.exact(&b, now); err != nil {
		t.Fatal(err)
	}
	if b.Span.End > now.Start {
		t.Errorf("judged up to %v after the counters were read", b.Span.End.Sub(now.Start))
	}
}

// TestLateBatchCoversNothing: of a process that a freezer may hold, nothing is known
// of a time for which nobody looked: it sleeps without an event.
func TestLateBatchCoversNothing(t *testing.T) {
	dir := makeGroup(t, freezers["v1"].place, freezers["v2"].place)
	pid := child(t, "sleep", -1)
	enter(t, dir, pid)
	l := &log{}
	w := still(t, pid, os.DirFS("/"))
	untilState(t, w.process, "S")
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * restEvery)
	if err := w.look(); err != nil {
		t.Fatal(err)
	}
	l.add(&w.seen)
	if b := &l.batches[0]; len(b.Covered) > 0 || b.Span.Duration() < 3*restEvery/2 {
		t.Errorf("batch of %v covers %v, want nothing", b.Span.Duration(), b.Covered)
	}
}

// TestThrottledOfEightCPUs: of 400 ms on a machine of eight CPUs 50 are certain,
// on however few of them the watch itself runs. That they were within the batch is
// all that is known of them.
func TestThrottledOfEightCPUs(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := fstest.MapFS{
		"proc/7/stat":                   file("7 (a) S 1 2 3 4 5 6 7 8 90 10 11 12 13 14 15 16 17 18 4242 20 21\n"),
		"proc/7/task/7/schedstat":       file("1 2 3\n"),
		"proc/7/cgroup":                 file("0::/a\n"),
		"proc/self/mountinfo":           file("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
		"sys/fs/cgroup/a/cpu.stat":      file("nr_throttled 3\nthrottled_usec 0\n"),
		"sys/devices/system/cpu/online": file("0-7\n"),
	}
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	p, err := hostcount.Open(root, 7)
	if err != nil {
		t.Fatal(err)
	}
	w := &Watch{o: Options{Clock: clock}, process: p}
	if err := w.count(); err != nil {
		t.Fatal(err)
	}
	var b Observations
	now := hostcount.Reading{Counts: w.last}
	w.mark, now.Start, now.End = 1, 1, stall.Instant(250*time.Millisecond)
	now.Throttled = gc.Known(400 * time.Millisecond)
	w.counted(&b, now)
	if len(b.Denied) != 1 || b.Denied[0].Duration() != 50*time.Millisecond || b.Denied[0].Slack < b.Span.Duration() {
		t.Errorf("intervals %+v, want one of 50ms anywhere in the batch", b.Denied)
	}
	if b.Totals.Denied != 0 {
		t.Errorf("denied for certain: %v, want none", b.Totals.Denied)
	}
}
