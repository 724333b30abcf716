package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// matching has the cases of TestMatching. Their lines are, with times in microseconds
// after the begin:
//
//	trace EPOCH REF START-END...     a collection as the trace has it, with its stops
//	part EPOCH REF START-END...      one of which the trace lacks a part
//	notice INDEX END SLACK           one as the watcher has it
//	notices INDEX CYCLES             a record of so many of which nothing else is known
//	want INDEX FIDELITY [START]      a record that is settled, and its first pause if it is exact
//	number EPOCH REF INDEX           the index of a stop's collection; - if it is not known
var matching = []struct{ name, lines string }{
	{"by the end of one, then by counting", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
notice 7 200 1
notice 8 400 1
want 7 exact 100
want 8 exact 300
number 1 2 7
number 1 3 8
number 1 1 6
`},
	{"mark termination is retried", `
trace 1 2 100-110 150-160 190-210
notice 7 200 1
want 7 exact 100
`},
	{"begins inside of a collection", `
part 1 1 190-210
trace 1 2 300-310 390-410
notice 7 200 1
notice 8 400 1
want 7 cycle
want 8 exact 300
number 1 1 7
number 1 2 8
`},
	{"k in one notice, of which more than the runtime remembers", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
trace 1 4 500-510 590-610
notices 8 2
notice 9 600 1
want 8 cycle
want 9 exact 500
number 1 2 7
number 1 3 8
`},
	{"a notice that is lost", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
trace 1 4 500-510 590-610
notice 7 200 1
notice 9 600 1
want 7 exact 100
want 9 exact 500
number 1 3 8
`},
	{"two stretches", `
trace 1 2 100-110 190-210
trace 2 2 800-810 890-910
notice 7 200 1
notice 8 500 1
notice 9 900 1
want 7 exact 100
want 8 cycle
want 9 exact 800
number 1 2 7
number 2 2 9
number 2 1 8
`},
	{"two stretches, and nothing of the second is noticed", `
trace 1 2 100-110 190-210
trace 2 2 800-810 890-910
notice 7 200 1
want 7 exact 100
number 1 2 7
number 2 2 -
`},
	{"the clock is set by little", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
notice 7 225 100
notice 8 425 100
want 7 exact 100
want 8 exact 300
`},
	{"the clock is set, and counting tells which of several it is", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
trace 1 4 500-510 590-610
notice 7 200 1
notice 8 480 500
notice 9 680 500
want 7 exact 100
want 8 exact 300
want 9 exact 500
`},
	{"the clock is set by more than it says", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
notice 7 200 1
notice 8 480 50
want 7 exact 100
want 8 cycle
number 1 3 8
`},
	{"an end that may be of two", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
notice 7 280 500
want 7 cycle
number 1 2 -
`},
	{"an end that may be of two, until the next one says it", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
notice 7 280 500
notice 8 400 500
want 7 cycle
want 8 exact 300
number 1 2 7
`},
	{"an end that may be of one, which is nearer to the next", `
trace 1 2 300-310 390-410
notice 7 200 300
notice 8 420 300
want 7 cycle
want 8 exact 300
`},
	{"an end that may be of one, which by counting is another's", `
trace 1 2 100-110 190-210
trace 1 3 300-310 390-410
notice 7 200 1
notice 9 480 500
want 7 exact 100
want 9 cycle
`},
	{"the trace lacks one, and the count is not believed", `
trace 1 2 100-110 190-210
trace 1 3 500-510 590-610
notice 7 200 500
notice 8 400 500
notice 9 600 500
want 7 exact 100
want 8 cycle
want 9 exact 500
number 1 3 9
`},
	{"not in the trace", `
notice 7 200 1
want 7 cycle
`},
}

func TestMatching(t *testing.T) {
	for _, c := range matching {
		t.Run(c.name, func(t *testing.T) {
			l := New(second)
			var want, got []string
			var settled bool
			settle := func() {
				if settled {
					return
				}
				settled = true
				all, _ := settleAll(l, 2*second)
				for _, c := range all {
					line := fmt.Sprintf("%d %v", c.Index, c.Fidelity)
					if c.Fidelity == stall.Exact {
						line += fmt.Sprintf(" %d", (c.Pauses[0].Start-second)/us)
					}
					got = append(got, line)
				}
			}
			numbers := make(map[string]stall.Instant) // begin of a collection, by epoch and Ref
			for line := range strings.Lines(strings.TrimSpace(c.lines)) {
				kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				field := strings.Fields(rest)
				switch kind {
				case "trace", "part":
					b := tracedBatch(t, kind == "part", field)
					l.Traced(b)
					numbers[field[0]+" "+field[1]] = b.Intervals[0].Start
				case "notice":
					end, slack := second+number(t, field[1])*us, time.Duration(number(t, field[2]))*time.Microsecond
					l.Watched(&source.Batch{Collections: []gc.Collection{{
						Index: uint64(number(t, field[0])), Cycles: 1, End: gc.Known(end),
						Pauses: []gc.Pause{{Start: end - 10*us, End: end, EndMax: end, Slack: slack}}, Estimated: gc.FieldPauses, Origin: stall.GCWatch,
					}}}, nil)
				case "notices":
					l.Watched(&source.Batch{Collections: []gc.Collection{{Index: uint64(number(t, field[0])), Cycles: int(number(t, field[1]))}}}, nil)
				case "want":
					want = append(want, rest)
				case "number":
					l.Traced(&source.Batch{Watermark: 2 * second})
					settle()
					at := numbers[field[0]+" "+field[1]]
					if field[1] == "1" && at == 0 { // under way when the stretch began
						at = numbers[field[0]+" 2"] - 1
					}
					var s Stops
					l.Read(&s, stall.Span{Start: second, End: 2 * second})
					n := s.Collection(at)
					if field[2] == "-" {
						if n&unindexed == 0 || l.Number(n) != n {
							t.Errorf("epoch %s, Ref %s: index %d, want none", field[0], field[1], n)
						}
					} else if want := uint64(number(t, field[2])); n != want || l.Number(n) != want {
						t.Errorf("epoch %s, Ref %s: index %d, want %d", field[0], field[1], n, want)
					}
					for _, v := range s.All(stall.Span{Start: at, End: at + 1}) {
						if v.Start == at && v.Ref != n {
							t.Errorf("epoch %s, Ref %s: the stop has index %d, the collection %d", field[0], field[1], v.Ref, n)
						}
					}
				default:
					t.Fatalf("line %q", line)
				}
			}
			l.Traced(&source.Batch{Watermark: 2 * second})
			settle()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// tracedBatch returns a batch of one collection.
func tracedBatch(t *testing.T, part bool, field []string) *source.Batch {
	t.Helper()
	b := &source.Batch{Epoch: uint64(number(t, field[0]))}
	c := gc.Collection{Index: uint64(number(t, field[1])), Cycles: 1, Fidelity: stall.Exact, Origin: stall.GoTrace}
	if part {
		c.Incomplete = "part"
	}
	for _, s := range field[2:] {
		start, end, _ := strings.Cut(s, "-")
		v := stall.Interval{Start: second + number(t, start)*us, End: second + number(t, end)*us, Cause: stall.GCPause, Ref: c.Index}
		b.Intervals = append(b.Intervals, v)
		c.Pauses = append(c.Pauses, gc.Pause{Start: v.Start, End: v.End, EndMax: v.End})
		c.End = gc.Known(v.End - 5*us)
		b.Watermark = v.End
	}
	b.Collections = []gc.Collection{c}
	return b
}

func number(t *testing.T, text string) (n stall.Instant) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("number %q: %v", text, err)
	}
	return n
}

// TestNumberComesLater: a collection that had no index in an earlier answer has one
// when the stretch is known, and it is another collection's in no case.
func TestNumberComesLater(t *testing.T) {
	l := New(second)
	l.Traced(tracedBatch(t, false, strings.Fields("1 2 100-110 190-210")))
	var s Stops
	l.Read(&s, stall.Span{Start: second, End: 2 * second})
	stops := s.All(stall.Span{Start: second, End: 2 * second})
	if len(stops) != 2 || stops[0].Ref != stops[1].Ref || l.Number(stops[0].Ref) != stops[0].Ref {
		t.Fatalf("got %v, want two stops of one collection without an index", stops)
	}
	before := stops[0].Ref
	end := second + 200*us
	l.Watched(&source.Batch{Collections: []gc.Collection{{Index: 7, Cycles: 1, End: gc.Known(end)}}}, nil)
	l.Traced(&source.Batch{Watermark: 2 * second})
	settleAll(l, 2*second)
	if got := l.Number(before); got != 7 {
		t.Errorf("got index %d, want 7", got)
	}
	if got := l.Number(7); got != 7 {
		t.Errorf("an index became %d", got)
	}
}
