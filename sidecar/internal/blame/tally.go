package blame

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Case is one request and who had its time.
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
	// Collections is how many collections delayed the request, zero where
	// Share.GC is.
	Collections int
	// FullBlocking is whether one of them was full and blocking, OneStop whether
	// two of them shared one stop.
	FullBlocking, OneStop bool
	// QueueDuringGC is how much of the time charged to queue a collection was under
	// way, at most, and ArrivedDuringGC whether one was when the request arrived.
	// Both are known of collections that were watched in fidelity exact.
	QueueDuringGC   time.Duration
	ArrivedDuringGC bool
}

// Tally is the sum of cases.
type Tally struct {
	Requests int
	// Affected requests were delayed by garbage collection; Several, FullBlocking
	// and OneStop are those of them that more than one collection delayed, a full
	// blocking one, and two in one stop.
	Affected, Several, FullBlocking, OneStop int
	Share                                    stall.Share
	AffectedShare                            stall.Share // of the affected ones alone
	Generator, AffectedGenerator             time.Duration
	Known                                    time.Duration
	QueueDuringGC                            time.Duration
	ArrivedDuringGC                          int
}

func (t *Tally) add(c *Case) {
	t.Requests++
	t.Known += c.Known
	t.QueueDuringGC += c.QueueDuringGC
	t.ArrivedDuringGC += one(c.ArrivedDuringGC)
	t.Generator += c.Generator
	Add(&t.Share, &c.Share)
	if c.Share.GC() <= 0 {
		return
	}
	t.Affected++
	t.AffectedGenerator += c.Generator
	Add(&t.AffectedShare, &c.Share)
	t.Several += one(c.Collections > 1)
	t.FullBlocking += one(c.FullBlocking)
	t.OneStop += one(c.OneStop)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (t *Tally) merge(u *Tally) {
	t.Requests += u.Requests
	t.Affected += u.Affected
	t.Several += u.Several
	t.FullBlocking += u.FullBlocking
	t.OneStop += u.OneStop
	t.QueueDuringGC += u.QueueDuringGC
	t.ArrivedDuringGC += u.ArrivedDuringGC
	t.Known += u.Known
	t.Generator += u.Generator
	t.AffectedGenerator += u.AffectedGenerator
	Add(&t.Share, &u.Share)
	Add(&t.AffectedShare, &u.AffectedShare)
}

// Coverage returns the fraction of the known time in which an exact source
// watched the runtime.
func (t *Tally) Coverage() float64 {
	if t.Known <= 0 {
		return 0
	}
	return min(1, float64(t.Share.Covered)/float64(t.Known))
}

// Of returns d as a fraction of the tally's time.
func (t *Tally) Of(d time.Duration) float64 { return ratio(d, t.Share.Total) }

func ratio(part, of time.Duration) float64 {
	if of <= 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// Add adds the share t to s. Fidelity stays as it is in s.
func Add(s, t *stall.Share) {
	fidelity := s.Fidelity
	s.Add(t)
	s.Fidelity = fidelity
}

// Row is the tally of one band in one fidelity.
type Row struct {
	Band     Band
	Fidelity stall.Fidelity
	Tally
}

// Judgement is what the latencies and shares of a run come to.
type Judgement struct {
	Latency Latency
	Rows    []Row // by band, then fidelity; only those that hold requests
	Slowest []Case
}

// Judge orders n requests by latency and sums their shares. look fills in the
// case of request i; it is called once for each, from the fastest to the
// slowest. keep is how many of the slowest are kept whole.
func Judge(n, keep int, latency func(i int) time.Duration, look func(i int, c *Case)) Judgement {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if d := latency(int(a)) - latency(int(b)); d != 0 {
			return int(max(-1, min(1, d)))
		}
		return int(a - b)
	})
	var tallies [NumBands][2]Tally
	j := Judgement{Latency: percentiles(n, func(rank int) time.Duration { return latency(int(order[rank])) })}
	for at, i := range order {
		var c Case
		look(int(i), &c)
		tallies[bandOf(at, n)][c.Share.Fidelity&1].add(&c)
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

// sum returns the tally of the rows that are wanted.
func (j *Judgement) sum(want func(*Row) bool) Tally {
	var t Tally
	for i := range j.Rows {
		if r := &j.Rows[i]; want(r) {
			t.merge(&r.Tally)
		}
	}
	return t
}
