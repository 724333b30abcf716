package strip

import (
	"encoding/xml"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

var update = flag.Bool("update", false, "write the golden files")

const us = stall.Instant(time.Microsecond)

// slow is a request with a piece of each kind.
func slow() *Request {
	r := &Request{Name: "GET /order?<id>", Sentence: "1.00 ms: of which some & more."}
	at := 100 * us
	for i, p := range []stall.Part{
		Generator, stall.Part(stall.Queue), stall.App, stall.AppOrHost, stall.Part(stall.GCAssist), stall.Part(stall.GCPause),
		stall.Part(stall.SchedGC), stall.Part(stall.Sched), stall.Part(stall.HostSteal), stall.Part(stall.RuntimeSuspension), stall.Unseen, stall.Uncertain,
	} {
		end := at + stall.Instant(i+1)*10*us
		r.Pieces = append(r.Pieces, stall.Piece{Start: at, End: end, Part: p})
		at = end
	}
	r.Collections = []Collection{{Index: 7, Span: stall.Span{Start: 150 * us, End: 400 * us}, Pauses: []stall.Span{{Start: 250 * us, End: 310 * us}}}}
	r.Stops = []stall.Interval{{Start: 250 * us, End: 310 * us, Cause: stall.GCPause}}
	r.Gaps = []stall.Interval{{Start: 0, End: 120 * us, Cause: stall.HostIRQ, Scope: stall.ScopeCPU}, {Start: 5000 * us, End: 5001 * us, Cause: stall.HostIRQ}}
	return r
}

func median() *Request {
	return &Request{Name: "a median one", Pieces: []stall.Piece{{Start: 9000 * us, End: 9010 * us, Part: stall.Part(stall.Queue)}, {Start: 9010 * us, End: 9050 * us, Part: stall.App}}}
}

func bins() []Bin {
	var all []Bin
	edges := Edges(300)
	for i := range edges[:len(edges)-1] {
		b := Bin{From: edges[i], To: edges[i+1], Latency: time.Duration(i+1) * time.Millisecond}
		b.Time[App], b.Time[GC] = time.Duration(100-4*i), time.Duration(4*i)
		all = append(all, b)
	}
	return all
}

func pauses() []Pause {
	return []Pause{
		{stall.Span{Start: 10 * us, End: 12 * us}, "GC 1", true, 0, 0}, {stall.Span{Start: 10 * us, End: 11 * us}, "GC 1", true, 0, 0},
		{stall.Span{Start: 500 * us, End: 900 * us}, "stop <it>", false, 0, 0}, {stall.Span{Start: 999 * us, End: 1000 * us}, "GC 2", true, 0, 0},
	}
}

// TestManyPauses: a million pauses take no more bars than there are columns, the longest
// of each, and none is forgotten.
func TestManyPauses(t *testing.T) {
	var list []Pause
	for i := range stall.Instant(1_000_000) {
		list = append(list, Pause{Span: stall.Span{Start: i * us, End: i*us + 1 + i%977}, GC: true})
	}
	got := Pauses(stall.Span{Start: 0, End: 1_000_000 * us}, list)
	if n := strings.Count(got, "<rect"); n != columns {
		t.Errorf("%d bars, want %d", n, columns)
	}
	if n := strings.Count(got, "and 999 shorter ones"); n != columns {
		t.Errorf("%d bars say that they stand for 1000 pauses, want all %d", n, columns)
	}
	if n := strings.Count(got, ": 977 ns at"); n < columns/2 {
		t.Errorf("%d bars are of the longest pauses", n)
	}
}

// TestGaps: a gap has the colour of its cause, and says how many shorter ones it stands for.
func TestGaps(t *testing.T) {
	list := []Pause{
		{Span: stall.Span{Start: 10 * us, End: 12 * us}, Name: "host.steal", Cause: stall.HostSteal, Others: 2}, {Span: stall.Span{Start: 10 * us, End: 11 * us}, Others: 3},
		{Span: stall.Span{Start: 500 * us, End: 501 * us}, Cause: stall.RuntimeUnknown},
	}
	got := Gaps(stall.Span{Start: 0, End: 1000 * us}, list)
	for _, want := range []string{`<rect class="ho"`, `<rect class="rt"`, "Gaps over time", "host.steal: 2.00 us at +10.0 us, and 6 shorter ones"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestGolden compares the drawings with those that were looked at in a browser.
func TestGolden(t *testing.T) {
	for name, got := range map[string]string{
		"strip.html":       slow().HTML(400*time.Microsecond, median()),
		"alone.html":       median().HTML(0, nil),
		"percentiles.html": Percentiles(bins()),
		"legend.html":      Legend(),
		"legend2.html":     Legend(Host, GC),
		"pauses.html":      Pauses(stall.Span{Start: 0, End: 1000 * us}, pauses()),
		"heaps.html": Heaps(stall.Span{Start: 0, End: 1000 * us}, []Heap{
			{At: 100 * us, Name: "GC 1", Before: 4 << 20, After: 1 << 20}, {At: 900 * us, Name: "GC 2", Before: 5000, After: 6000},
		}),
	} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got; go test -update writes it):\n%s", name, diff)
		}
	}
}

// drawn reads the bars of a drawing that lie at a height: the sum of their widths, and how
// they follow on each other, in percent.
func bars(t *testing.T, drawing string, y string) (sum float64) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(drawing))
	end := 0.0
	for {
		token, err := d.Token()
		if err == io.EOF {
			return sum
		}
		if err != nil {
			t.Fatalf("drawing is not well-formed: %v", err)
		}
		e, is := token.(xml.StartElement)
		if !is || e.Name.Local != "rect" {
			continue
		}
		has := map[string]string{}
		for _, a := range e.Attr {
			has[a.Name.Local] = a.Value
		}
		if has["y"] != y || has["class"] == "lane" {
			continue
		}
		x, err1 := strconv.ParseFloat(strings.TrimSuffix(has["x"], "%"), 64)
		width, err2 := strconv.ParseFloat(strings.TrimSuffix(has["width"], "%"), 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("bar %v: no numbers", has)
		}
		if math.Abs(x-end) > 0.001 {
			t.Errorf("bar at %v %% after %v %%", x, end)
		}
		end = x + width
		sum += width
	}
}

// TestStripIsWhole: the bars of a request fill its strip to less than a pixel of a
// thousand, whatever its pieces are, and its parts sum to it.
func TestStripIsWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 50, maxDrawn, maxDrawn + 1, 20_000} {
		r := &Request{Name: "r"}
		at := stall.Instant(random.Int64N(1e15))
		for range n {
			end := at + 1 + stall.Instant(random.ExpFloat64()*1000)
			r.Pieces = append(r.Pieces, stall.Piece{Start: at, End: end, Part: 1 + stall.Part(random.IntN(int(Generator)))})
			at = end
		}
		if got := bars(t, r.HTML(0, nil), "24"); math.Abs(got-100) > 0.1 {
			t.Errorf("%d pieces: the bars take %v %% of the strip", n, got)
		}
		var sum time.Duration
		for _, p := range r.Times() {
			sum += p.Time
		}
		if want := r.Span().Duration(); sum != want {
			t.Errorf("%d pieces: the parts sum to %v of %v", n, sum, want)
		}
	}
}

// TestLine: each character stands for the part that has the most of its stretch.
func TestLine(t *testing.T) {
	r := &Request{Pieces: []stall.Piece{
		{Start: 0, End: 10, Part: stall.App}, {Start: 10, End: 12, Part: stall.Part(stall.Queue)}, {Start: 12, End: 20, Part: stall.Part(stall.GCAssist)},
		{Start: 20, End: 36, Part: stall.Unseen}, {Start: 36, End: 40, Part: Generator},
	}}
	for n, want := range map[int]string{4: ".G??", 8: "..GG???l", 1: "?", 0: ""} {
		if got := r.Line(n); got != want {
			t.Errorf("line of %d: got %q, want %q", n, got, want)
		}
	}
	if got := new(Request).Line(5); got != "" {
		t.Errorf("line of nothing: %q", got)
	}
}

// TestNothing: what has no pieces has no drawing.
func TestNothing(t *testing.T) {
	if got := new(Request).HTML(time.Second, nil) + Percentiles(nil) + Pauses(stall.Span{End: 1}, nil) + Heaps(stall.Span{End: 1}, nil); got != "" {
		t.Errorf("got %q", got)
	}
}

// TestGroups: each part has a group, and no two groups a letter.
func TestGroups(t *testing.T) {
	got := map[string]string{}
	for p := stall.Part(1); p <= Generator; p++ {
		got[label(p)] = GroupOf(p).String()
	}
	want := map[string]string{
		"gc.pause": "garbage collection", "gc.assist": "garbage collection", "gc.sweep": "garbage collection", "gc.wait": "garbage collection",
		"runtime.suspension": "other stops of the runtime", "runtime.unknown": "other stops of the runtime",
		"sched.gc": "Go scheduler", "sched": "Go scheduler", "queue": "queue", "load generator": "load generator",
		"app": "program", "app_or_host": "program", "uncertain": "not seen", "unseen": "not seen",
	}
	for c := stall.HostThrottled; c <= stall.HostUnknown; c++ {
		want[c.String()] = "machine"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	seen := map[byte]Group{}
	for g := range NumGroups {
		if other, is := seen[g.Letter()]; is {
			t.Errorf("%v and %v have one letter, %c", g, other, g.Letter())
		}
		seen[g.Letter()] = g
	}
}

func TestNiceStep(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		1: 1, 7: 2, 43 * time.Millisecond: 10 * time.Millisecond, 26 * time.Millisecond: 5 * time.Millisecond, 11 * time.Second: 2 * time.Second,
	} {
		if got := niceStep(d); got != want {
			t.Errorf("step of %v: got %v, want %v", d, got, want)
		}
	}
}

// TestEdges: between two percentiles lies at least one request, and the last is 1.
func TestEdges(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1500, 1_000_000} {
		edges := Edges(n)
		if edges[0] != 0 || edges[len(edges)-1] != 1 {
			t.Errorf("edges of %d requests: from %v to %v", n, edges[0], edges[len(edges)-1])
		}
		for i := 1; i < len(edges)-1; i++ {
			if float64(n)*(edges[i]-edges[i-1]) < 1 {
				t.Errorf("edges of %d requests: nothing is between %v and %v", n, edges[i-1], edges[i])
			}
		}
	}
	if n := len(Edges(1500)); n < 20 || n > 40 {
		t.Errorf("%d edges for 1500 requests", n)
	}
}
