package gotrace_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
)

// told is what a trace says of one task, its generations put together.
type told struct {
	parent   string // its name
	ends     int
	away     bool // one of them on another goroutine
	later    bool // one of them in another generation
	g        uint64
	sequence int // of the generation
}

// TestTasks holds the tasks of each version against what the program did.
func TestTasks(t *testing.T) {
	want := map[string]told{
		"GET /a":                {ends: 1},
		"GET /b":                {ends: 1},
		"GET /a part":           {parent: "GET /a", ends: 3},
		"GET /b part":           {parent: "GET /b", ends: 3},
		"long":                  {ends: 1, away: true, later: true},
		"ends after its parent": {parent: "long", ends: 2, away: true, later: true},
		"never ends":            {parent: "long"},
	}
	for _, c := range gotracetest.Captures(t, "testdata/tasks") {
		t.Run(c.Name, func(t *testing.T) {
			names, got := map[uint64]string{}, map[string]told{}
			clocks, unbegun, generation := 0, 0, 0
			err := all(t, c.Bytes, gotrace.Options{Tasks: true}, func(_ *gotrace.Reader, g *gotrace.Generation) {
				generation++
				if g.Truncated || !slices.IsSortedFunc(g.Tasks, func(a, b gotrace.Task) int { return int(a.At - b.At) }) {
					t.Errorf("lost %+v, or tasks out of order: %+v", g.Lost, g.Tasks)
				}
				for _, k := range g.Tasks {
					name := names[k.ID]
					if k.End {
						if name == "" {
							unbegun++
						}
						x := got[name]
						x.ends++
						x.away, x.later = x.away || k.Goroutine != x.g, x.later || generation != x.sequence
						got[name] = x
						continue
					}
					names[k.ID] = k.Name
					got[k.Name] = told{parent: names[k.Parent], ends: got[k.Name].ends, g: k.Goroutine, sequence: generation}
					if text, ok := strings.CutPrefix(k.Name, "clock "); ok {
						clocks++
						checkMonotonic(t, text, k.At)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if clocks != 3 || unbegun != 1 {
				t.Errorf("%d tasks that have the time and %d begun before the trace, want 3 and 1", clocks, unbegun)
			}
			maps.DeleteFunc(got, func(name string, _ told) bool { return name == "" || strings.HasPrefix(name, "clock ") })
			for name, x := range got {
				got[name] = told{parent: x.parent, ends: x.ends, away: x.away, later: x.later}
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(told{})); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
		})
	}
}

// checkMonotonic holds the instant of a task against what the program read of
// CLOCK_MONOTONIC just before it.
func checkMonotonic(t *testing.T, text string, at stall.Instant) {
	t.Helper()
	const tick, most = 64, 200 * time.Microsecond
	read, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if later := at.Sub(stall.Instant(read)); later <= -tick || later > most {
		t.Errorf("a task begins at %d, %v after CLOCK_MONOTONIC was read, want at most %v", at, later, most)
	}
}

// TestTasksAreFollowed: those goroutines have tracks that began a task without a
// parent, until they are let go; none has without tracks, and nothing is told of
// tasks that are not wanted.
func TestTasksAreFollowed(t *testing.T) {
	for _, c := range gotracetest.Captures(t, "testdata/tasks") {
		for name, o := range map[string]gotrace.Options{
			"": {Tasks: true}, "no tracks": {Tasks: true, NoTracks: true}, "no tasks": {MarkPrefix: gotracetest.MarkPrefix},
		} {
			t.Run(c.Name+" "+name, func(t *testing.T) {
				n := 0
				followed := map[uint64]bool{}
				err := all(t, c.Bytes, o, func(r *gotrace.Reader, g *gotrace.Generation) {
					n += len(g.Tasks)
					for _, k := range g.Tasks {
						if !k.End && k.Parent == 0 && !o.NoTracks {
							followed[k.Goroutine] = true
						}
					}
					for _, tr := range g.Tracks {
						if !followed[tr.Goroutine] {
							t.Errorf("goroutine %d has a track, want those of %v", tr.Goroutine, followed)
						}
						delete(followed, tr.Goroutine)
						r.Unfollow(tr.Goroutine)
					}
					if len(followed) > 0 {
						t.Errorf("goroutines %v have no track", followed)
					}
				})
				if err != nil || n > 0 != o.Tasks {
					t.Errorf("%d tasks, %v", n, err)
				}
			})
		}
	}
}

// TestLimitsOfTasks: what is over a limit is counted, and a name that the strings
// had no room for is empty.
func TestLimitsOfTasks(t *testing.T) {
	for _, c := range gotracetest.Captures(t, "testdata/tasks") {
		for name, test := range map[string]struct {
			limits gotrace.Limits
			lost   func(*gotrace.Generation) bool
		}{
			"records":  {gotrace.Limits{Records: 2}, func(g *gotrace.Generation) bool { return len(g.Tasks) == 2 && g.Lost.Tasks > 0 }},
			"followed": {gotrace.Limits{Followed: 1}, func(g *gotrace.Generation) bool { return len(g.Tracks) == 1 && g.Lost.Followed > 0 }},
			"tables": {gotrace.Limits{TableBytes: 1}, func(g *gotrace.Generation) bool {
				return g.Lost.Strings > 0 && len(g.Tasks) > 0 && !slices.ContainsFunc(g.Tasks, func(k gotrace.Task) bool { return k.Name != "" })
			}},
		} {
			t.Run(c.Name+" "+name, func(t *testing.T) {
				r, err := gotrace.NewReader(bytes.NewReader(c.Bytes), gotrace.Options{Tasks: true, Limits: test.limits})
				if err != nil {
					t.Fatal(err)
				}
				g, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !test.lost(g) || !g.Truncated {
					t.Errorf("%d tasks, %d tracks, lost %+v, want it counted", len(g.Tasks), len(g.Tracks), g.Lost)
				}
			})
		}
	}
}

// TestTasksAllocateNothing: of a stream that is read again, the tasks are in the
// memory of the first time, their names among it.
func TestTasksAllocateNothing(t *testing.T) {
	const tasks = 1000
	var b strings.Builder
	b.WriteString("@gen 1\n@m 1 100\nGoStatus dt=0 g=1 m=1 gstatus=2\n")
	for i := range tasks {
		fmt.Fprintf(&b, "UserTaskBegin dt=1 task=%d parent_task=0 name_string=3 stack=0\nUserTaskEnd dt=1 task=%d stack=0\n", i+1, i+1)
	}
	data := assemble(t, b.String()+reasons+"@end")
	stream := bytes.NewReader(data)
	r, err := gotrace.NewReader(stream, gotrace.Options{Tasks: true})
	if err != nil {
		t.Fatal(err)
	}
	read := func() {
		for n := 0; ; {
			g, err := r.Next()
			if err == io.EOF && n == 2*tasks {
				return
			}
			if err != nil {
				t.Fatalf("%d begins and ends, %v", n, err)
			}
			n += len(g.Tasks)
		}
	}
	read()
	allocs := testing.AllocsPerRun(10, func() {
		stream.Reset(data)
		if err := r.Reset(stream); err != nil {
			t.Fatal(err)
		}
		read()
	})
	// The table of events is made anew for each stream.
	if allocs > 2 {
		t.Errorf("got %v allocations per stream, want at most 2", allocs)
	}
}
