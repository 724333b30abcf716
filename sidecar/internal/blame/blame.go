// Package blame attributes the time of the slow requests: it orders requests into
// disjoint bands of latency, sums their shares per band and fidelity, and prints the
// result as a table, as JSON and in sentences.
//
// What was not watched stays unseen in each of them. What was watched only per GC cycle
// counts where it is certain, and its time is called "at most" unless more of it may be
// uncertain.
package blame

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Report is a run of the demo, ready to be printed.
type Report struct {
	Setup     []Line // what ran, and what shared the CPUs
	Summary   Summary
	Requests  int // answered
	Errors    int // not answered, or not sent in time
	Unmatched int // answered, but the service gave no account of them: all unseen
	// Start is the beginning of the load; instants are printed relative to it.
	Start    stall.Instant
	Injected *Injected // nil for nothing
	GC       Collections
	Inside   Inside
	Outside  Outside
	Notes    []string // what the reader has to know before believing a number
	// Drawn are the slowest requests of which the pieces are known, the slowest first, and
	// Median is one near the median, nil if there is none.
	Drawn  []*strip.Request
	Median *strip.Request
}

// Line is a title and its text.
type Line struct{ Title, Text string }

// Injected is what the demo did to the service on purpose, and how often.
type Injected struct {
	What      string  `json:"what"`
	Times     uint64  `json:"times,omitempty"` // zero for what is not done a number of times
	PerSecond float64 `json:"per_second,omitempty"`
}

// Collections is what the collector did in the service.
type Collections struct {
	Cycles        uint64 // as the monitor counted them
	RuntimeCycles uint64 // as the runtime did, over the same time
	Pause         time.Duration
	LongestPause  time.Duration
	Slowed        slowed.Tally // that the machine made pause long
}

// Inside counts the gaps of the probe in the service's process that are longer
// than 50 us. GC, Coincident and Other sum to Over50us.
type Inside struct {
	Mode     string `json:"-"`
	Over50us int    `json:"over_50us"`
	GC       int    `json:"gc"` // at least half of the gap is a pause of the collector
	Other    int    `json:"other"`
	// Coincident gaps are no pause's, but overlap a gap that the outside probe
	// saw on another CPU.
	Coincident int `json:"coincident"`
}

// Outside is what the probe beside the service saw.
type Outside struct {
	jitterprobe.Summary
	Board bool // the service read its gaps
}

// Lost returns the fraction of the observed time that fell into gaps.
func (o *Outside) Lost() float64 { return textfmt.Ratio(o.GapTime, o.Observed()) }

func (o *Outside) longest() time.Duration { return max(o.Longest.Duration(), o.DroppedMax) }

// Band is a range of latency ranks. Bands are disjoint, and every request is in
// exactly one.
type Band uint8

const (
	ToP50     Band = iota // the faster half
	P50ToP90              // above p50, up to p90
	P90ToP99              // above p90, up to p99
	P99ToP999             // above p99, up to p99.9; only with enough requests
	AboveP999             // above p99.9, but for the slowest; only with enough requests
	AboveP99              // above p99, but for the slowest, where p99.9 is n/a
	Slowest               // the one slowest request
	NumBands
)

// tail is the first band above p99.
const tail = P99ToP999

// bands are the names in JSON and the titles.
var bands = [NumBands]struct{ name, title string }{
	{"p0-p50", "up to p50"}, {"p50-p90", "p50 - p90"}, {"p90-p99", "p90 - p99"}, {"p99-p999", "p99 - p99.9"},
	{"p999-max", "above p99.9"}, {"p99-max", "above p99"}, {"slowest", "slowest"},
}

// MinForP999 is how many requests p99.9 needs: with fewer, fewer than ten lie
// above it, and it is the luck of a few.
const MinForP999 = 10_000

// Latency holds the percentiles from the intended start, by nearest rank: p of the
// requests took at most so long.
type Latency struct {
	P50  time.Duration           `json:"p50"`
	P90  time.Duration           `json:"p90"`
	P99  time.Duration           `json:"p99"`
	P999 gc.Maybe[time.Duration] `json:"p999,omitzero"` // absent below MinForP999 requests
	Max  time.Duration           `json:"max"`
}

// percentiles returns the latency of n sorted requests, of which at returns one.
func percentiles(n int, at func(rank int) time.Duration) (l Latency) {
	if n == 0 {
		return l
	}
	p := func(permille int) time.Duration { return at(textfmt.Rank(permille, n) - 1) }
	l = Latency{P50: p(500), P90: p(900), P99: p(990), Max: p(1000)}
	if n >= MinForP999 {
		l.P999 = gc.Known(p(999))
	}
	return l
}

// bandOf returns the band of the request at rank i of n, 0 the fastest.
func bandOf(i, n int) Band {
	within := func(permille int) bool { return i < textfmt.Rank(permille, n) }
	switch {
	case i == n-1:
		return Slowest
	case within(500):
		return ToP50
	case within(900):
		return P50ToP90
	case within(990):
		return P90ToP99
	case n < MinForP999:
		return AboveP99
	case within(999):
		return P99ToP999
	}
	return AboveP999
}

// Case is one request and where its time went.
type Case struct {
	Arrival stall.Instant
	Latency time.Duration
	Share   stall.Share
	// Generator is the part of Share.Total that was the load generator's own, and of
	// no cause: the request could be sent and was not, or its answer lay there and
	// was not read.
	Generator time.Duration
	// Known is the part of Share.Total of which the service itself gave
	// account; Share.Covered is part of it.
	Known time.Duration
	// FullBlocking is whether one of the collections that delayed the request was full
	// and blocking, OneStop whether two of them shared one stop.
	FullBlocking, OneStop bool
	// QueueDuringGC is how much of the time charged to queue a collection was under
	// way, at most, and ArrivedDuringGC whether one was when the request arrived.
	// Both are known of collections that were watched in fidelity exact.
	QueueDuringGC   time.Duration
	ArrivedDuringGC bool
	Behind
}

// Behind is time in which requests waited for their turn while another slow request that
// the collector held up was in its handler, at most: of what is charged to queue, and of
// what is to sched and sched.gc. No sum has it, it only tells apart what is in them.
type Behind struct{ QueueBehindGC, SchedBehindGC time.Duration }

func (b *Behind) add(o *Behind) {
	b.QueueBehindGC += o.QueueBehindGC
	b.SchedBehindGC += o.SchedBehindGC
}

func (b *Behind) sum() time.Duration { return b.QueueBehindGC + b.SchedBehindGC }

// spent is the time of requests, and its owners.
type spent struct {
	Share     stall.Share
	Generator time.Duration
}

// add adds the time of other requests. Fidelity stays as it is in s.
func (s *spent) add(o *spent) {
	fidelity := s.Share.Fidelity
	s.Share.Add(&o.Share)
	s.Share.Fidelity = fidelity
	s.Generator += o.Generator
}

// Tally is the sum of cases.
type Tally struct {
	Requests int
	// Affected requests were delayed by garbage collection; Several, FullBlocking
	// and OneStop are those of them that more than one collection delayed, a full
	// blocking one, and two in one stop.
	Affected, Several, FullBlocking, OneStop int
	spent
	affected        spent // of the affected ones alone
	Known           time.Duration
	QueueDuringGC   time.Duration
	ArrivedDuringGC int
	Behind
}

func (c *Case) tally() Tally {
	t := Tally{
		Requests: 1, spent: spent{c.Share, c.Generator}, Known: c.Known,
		QueueDuringGC: c.QueueDuringGC, ArrivedDuringGC: one(c.ArrivedDuringGC), Behind: c.Behind,
	}
	if c.Share.GC() > 0 {
		t.Affected, t.affected = 1, t.spent
		t.Several, t.FullBlocking, t.OneStop = one(c.Share.Collections > 1), one(c.FullBlocking), one(c.OneStop)
	}
	return t
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (t *Tally) add(u *Tally) {
	t.Requests += u.Requests
	t.Affected += u.Affected
	t.Several += u.Several
	t.FullBlocking += u.FullBlocking
	t.OneStop += u.OneStop
	t.QueueDuringGC += u.QueueDuringGC
	t.ArrivedDuringGC += u.ArrivedDuringGC
	t.Behind.add(&u.Behind)
	t.Known += u.Known
	t.spent.add(&u.spent)
	t.affected.add(&u.affected)
}

// Coverage returns the fraction of the known time in which an exact source
// watched the runtime.
func (t *Tally) Coverage() float64 { return min(1, textfmt.Ratio(t.Share.Covered, t.Known)) }

// Of returns d as a fraction of the tally's time.
func (t *Tally) Of(d time.Duration) float64 { return textfmt.Ratio(d, t.Share.Total) }

// GCShare returns what garbage collection had of the time of all requests, and
// of the time of those that it delayed. In fidelity cycle both are of pauses that
// fell into requests for certain, which need not have delayed them; more of them may
// be uncertain.
func (t *Tally) GCShare() (ofAll, ofDelayed float64) {
	return t.Of(t.Share.GC()), textfmt.Ratio(t.affected.Share.GC(), t.affected.Share.Total)
}

// Row is the tally of one band in one fidelity.
type Row struct {
	Band     Band
	Fidelity stall.Fidelity
	Tally
}

// Summary is what the latencies and shares of a run come to.
type Summary struct {
	Latency Latency
	Rows    []Row // by band, then fidelity; only those that hold requests
	Slowest []Case
	Bins    []strip.Bin // by percentile
}

// Summarize orders n requests by latency and sums their shares. look fills in the
// case of request i; it is called once for each, from the fastest to the
// slowest. keep is how many of the slowest are kept whole.
func Summarize(n, keep int, latency func(i int) time.Duration, look func(i int, c *Case)) Summary {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(latency(int(a)), latency(int(b))) })
	var tallies [NumBands][2]Tally
	j := Summary{Latency: percentiles(n, func(rank int) time.Duration { return latency(int(order[rank])) })}
	edges := strip.Edges(n)
	for at, i := range order {
		var c Case
		look(int(i), &c)
		t := c.tally()
		if k := len(j.Bins); k < len(edges)-1 && float64(at) >= edges[k]*float64(n) {
			j.Bins = append(j.Bins, strip.Bin{From: edges[k], To: edges[k+1]})
		}
		c.addTo(&j.Bins[len(j.Bins)-1])
		tallies[bandOf(at, n)][c.Share.Fidelity&1].add(&t)
		if at >= n-keep {
			j.Slowest = append(j.Slowest, c)
		}
	}
	slices.Reverse(j.Slowest)
	for b := range NumBands {
		for _, f := range []stall.Fidelity{stall.Exact, stall.Cycle} {
			if t := &tallies[b][f]; t.Requests > 0 {
				j.Rows = append(j.Rows, Row{Band: b, Fidelity: f, Tally: *t})
			}
		}
	}
	return j
}

// addTo adds the time of c to a bin; it is slower than those in it.
func (c *Case) addTo(b *strip.Bin) {
	b.Latency = c.Latency
	for p := range stall.NumParts {
		b.Time[strip.GroupOf(p)] += *c.Share.Of(p)
	}
	b.Time[strip.Load] += c.Generator
}

// sum returns the tally of the requests in a band and above it: those of a fidelity,
// or of both if none is given.
func (j *Summary) sum(from Band, fidelity ...stall.Fidelity) (t Tally) {
	for i := range j.Rows {
		if r := &j.Rows[i]; r.Band >= from && (len(fidelity) == 0 || slices.Contains(fidelity, r.Fidelity)) {
			t.add(&r.Tally)
		}
	}
	return t
}

// of returns the tally of the requests in a band.
func (j *Summary) of(b Band) (t Tally) {
	for i := range j.Rows {
		if j.Rows[i].Band == b {
			t.add(&j.Rows[i].Tally)
		}
	}
	return t
}

// delayed returns the tally of all requests in the better fidelity of those in
// which any was delayed by garbage collection.
func (j *Summary) delayed() (Tally, stall.Fidelity) {
	if t := j.sum(ToP50, stall.Exact); t.Affected > 0 {
		return t, stall.Exact
	}
	return j.sum(ToP50, stall.Cycle), stall.Cycle
}

// stalls returns what stalled the requests, the most first. Queue is not among them: it is
// what is left of the way to the handler and back when nothing else explains it, as app is
// of the handler.
func (s *spent) stalls() []stall.Cause {
	causes := []stall.Cause{}
	for c := stall.GCPause; c < stall.Queue; c++ {
		if s.Share.Charged[c] > 0 {
			causes = append(causes, c)
		}
	}
	slices.SortStableFunc(causes, func(a, b stall.Cause) int { return cmp.Compare(s.Share.Charged[b], s.Share.Charged[a]) })
	return causes
}
