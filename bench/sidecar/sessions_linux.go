package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

// The runtime writes every event once for each session, into buffers of that
// session, and each session has a thread of its own that sends them. So many
// sessions cost what one does many times over, which one alone does not show in
// the noise of a machine. What is done once for all sessions is made more by
// more collections.

// amplifier is a kind of service and the request of its sessions.
type amplifier struct {
	name   string
	rounds int
	levels []int // numbers of sessions that a round goes through
	env    []string
	ask    dotnetipc.Request
}

const (
	usual = "default heap"
	many  = "many collections"
)

func (b *dotnet) amplifiers() []amplifier {
	levels := []int{0, 1, b.sessions / 2, b.sessions}
	return []amplifier{
		{usual, b.rounds, levels, nil, request()},
		{many, b.rounds, levels, []string{smallGen0}, request()},
		{usual + ", `--allocations`", b.rounds * 2 / 5, levels, nil, allocatingRequest()},
	}
}

// beat is what a service did in one stretch with some sessions.
type beat struct {
	stretch
	streaming time.Duration // CPU of the threads that write the sessions
	seen      seen          // by the first
}

// amplified is the result of an amplifier: in each round a beat for each level.
type amplified struct {
	amplifier
	beats [][]beat
}

// amplify goes through the levels, up and down in turn, so that what changes in
// the process or the machine with time favors none.
func (b *dotnet) amplify(ctx context.Context, a amplifier) (*amplified, error) {
	s, err := b.start(ctx, b.warmup, a.env...)
	if err != nil {
		return nil, err
	}
	defer s.Kill()
	all := &amplified{amplifier: a}
	last := len(a.levels) - 1
	for i := range a.rounds {
		round := make([]beat, len(a.levels))
		for at := range a.levels {
			if i%2 == 1 {
				at = last - at
			}
			if round[at], err = b.beatWith(ctx, s, a.levels[at], a.ask); err != nil {
				return nil, err
			}
		}
		all.beats = append(all.beats, round)
		b.Logf("%s: round %d: %v, with %d sessions %v", a.name, i+1, round[0].perRequest(), a.levels[last], round[last].perRequest())
	}
	return all, s.Stop()
}

func (b *dotnet) beatWith(ctx context.Context, s *dotnetService, n int, ask dotnetipc.Request) (v beat, err error) {
	c, err := openSessions(ctx, s, n, ask)
	if err != nil {
		return v, err
	}
	err = func() error {
		if _, err := s.load(ctx, b.beat/4); err != nil {
			return err
		}
		before, err := s.streaming()
		if err != nil {
			return err
		}
		if v.stretch, err = s.load(ctx, b.beat); err != nil {
			return err
		}
		after, err := s.streaming()
		v.streaming = cpuOf(after) - cpuOf(before)
		return err
	}()
	if err != nil {
		c.close()
		return v, err
	}
	v.seen, err = c.end(ctx, s)
	return v, err
}

func cpuOf(threads []harness.Thread) (sum time.Duration) {
	for _, t := range threads {
		sum += t.CPU
	}
	return sum
}

// median returns the middle of f of the beats of one level.
func (a *amplified) median(at int, f func(v *beat) float64) float64 {
	return harness.Median(harness.Each(a.beats, func(r []beat) float64 { return f(&r[at]) }))
}

// more returns how much more CPU a request takes with the sessions of a level.
func (a *amplified) more(at int) harness.Interval {
	return harness.Of(harness.Each(a.beats, func(r []beat) float64 { return r[at].more(&r[0].stretch) }))
}

// fixed returns what of that does not grow with their number.
func (a *amplified) fixed() harness.Interval {
	last := len(a.levels) - 1
	return harness.Of(harness.Each(a.beats, func(r []beat) float64 { return 2*r[last-1].more(&r[0].stretch) - r[last].more(&r[0].stretch) }))
}

// rate returns the collections in a second of the service's CPU.
func (a *amplified) rate() float64 {
	return a.median(1, (*beat).collections) / a.median(0, func(v *beat) float64 { return v.cpu.Seconds() / v.wall.Seconds() })
}

func (v *beat) collections() float64 {
	return float64(v.seen.collections) / max(1e-9, v.seen.span.Seconds())
}
func (v *beat) events() float64 { return float64(v.seen.events) / max(1e-9, v.seen.span.Seconds()) }

func (a *amplified) row(at int) []string {
	n := a.levels[at]
	all, one := a.more(at), 1/float64(n)
	return []string{
		a.name, strconv.Itoa(n), strconv.Itoa(len(a.beats)), fmt.Sprintf("%.1f", a.median(at, (*beat).collections)),
		fmt.Sprintf("%.2f %%", all.Median), all.String(), fmt.Sprintf("%.3f %%", all.Median*one), all.Times(one).Text(3),
		fmt.Sprintf("%.3f %%", a.median(at, func(v *beat) float64 { return 100 * v.streaming.Seconds() / v.wall.Seconds() * one })),
		fmt.Sprintf("%.0f", a.median(at, (*beat).events)),
	}
}

// numbers writes a list such as "0, 1, 20 and 40".
func numbers(list []int) string {
	var text []string
	for _, n := range list[:len(list)-1] {
		text = append(text, strconv.Itoa(n))
	}
	return strings.Join(text, ", ") + " and " + strconv.Itoa(list[len(list)-1])
}

// measureAmplified writes what one session costs, by many.
func (b *dotnet) measureSessions(ctx context.Context) error {
	table := [][]string{{
		"setting", "sessions at once", "rounds", "collections/s", "CPU per request more, median", "95 % interval",
		"of it each session", "95 % interval", "a session's own thread, of one CPU", "events/s of a session",
	}}
	found := make(map[string]*amplified)
	var fixed []string
	lost := uint64(0)
	for _, one := range b.amplifiers() {
		if one.rounds == 0 {
			continue
		}
		a, err := b.amplify(ctx, one)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		found[a.name] = a
		for at := range a.levels[1:] {
			table = append(table, a.row(at+1))
		}
		for _, r := range a.beats {
			for i := range r {
				lost += r[i].seen.lost
			}
		}
		fixed = append(fixed, fmt.Sprintf("%s %.2f %% (%s)", a.name, a.fixed().Median, a.fixed()))
	}
	levels := found[usual].levels
	most := levels[len(levels)-1]
	b.Para("**One session, by many at once.** The runtime writes every event once for each session, into buffers of that session, and each session has a thread of "+
		"its own that sends them every 100 ms. So %d sessions with exactly the sidecar's provider, keywords, level and event ids cost that part %d times, and their cost divided by "+
		"their number is that of one, with %d times less noise. Within one process, stretches of %v with %s sessions follow each other, "+
		"up and down in turn, each behind %v that are not measured. Every session is drained on the other CPUs and thrown away. "+
		"Many collections: `DOTNET_GCgen0size=40000`.",
		most, most, most, b.beat, numbers(levels), b.beat/4)
	b.Table(table)
	b.Para("The division assumes that the cost grows with the number of sessions: then each session's share is the same in the last two rows of a setting. "+
		"It leaves out what is done once however many there are, such as to make the event before it is written. That is 2 × the row before the last - the last: %s. "+
		"A session's own thread is by its `schedstat`, and is in the CPU per request already. Events lost in all: %d.", strings.Join(fixed, "; "), lost)
	b.Para("%s", found[many].allParts(found[usual]))
	b.Para("Not in these figures: what the sidecar itself uses, and what `--target PID` has the kernel do at each switch of a thread, which only the first table has.")
	return nil
}

// allParts says what one session costs with all its parts at the usual rate of
// collections, by a service that has many.
func (a *amplified) allParts(at *amplified) string {
	factor, v := at.rate()/a.rate(), a.more(1)
	if !(factor > 0) || math.IsInf(factor, 0) {
		return "**All parts of one session:** n/a, too few collections were seen."
	}
	return fmt.Sprintf("**All parts of one session:** where collections are many, the row of one session has both parts, and there are %.1f times as many collections in a second of the "+
		"service's CPU as with the default heap. Divided by that, one session costs **%.3f %%** of the CPU per request with the default heap (%s). That assumes that the cost is one of "+
		"collections, which all of the sidecar's events are of; the 10 wake-ups a second of the session's thread are in the column of that.",
		1/factor, v.Median*factor, v.Times(factor).Text(3))
}

// request is what the sidecar asks for.
func request() dotnetipc.Request {
	return dotnetipc.Request{Providers: []dotnetipc.Provider{{
		Name: dotnetgc.Provider, Keywords: dotnetgc.Keywords, Level: dotnetgc.Level, Events: dotnetgc.EventIDs(),
	}}}
}

// allocatingRequest is what it asks for with --allocations.
func allocatingRequest() dotnetipc.Request {
	q := request()
	q.Providers[0].Level = dotnetgc.LevelAllocations
	q.Providers[0].Events = append(q.Providers[0].Events, dotnetgc.AllocationEventIDs()...)
	return q
}

// sessions are open at once. What comes is thrown away; of the first session it is
// counted.
type sessions struct {
	list    []*dotnetipc.Session
	readers sync.WaitGroup
	begun   time.Time
	seen    seen
	err     error // of the first reader
}

// seen is what one session was sent.
type seen struct {
	events, collections, lost uint64
	span                      time.Duration
}

// answerFor is how long the runtime may take to begin a session or to end them:
// its server is a thread among those that the load keeps busy.
const answerFor = time.Minute

// openSessions begins n sessions with a service.
func openSessions(ctx context.Context, s *dotnetService, n int, q dotnetipc.Request) (*sessions, error) {
	c := &sessions{begun: time.Now()}
	if n == 0 {
		return c, nil
	}
	e, err := dotnetipc.Proc{}.Locate(ctx, s.PID())
	if err != nil {
		return nil, err
	}
	client := dotnetipc.NewClient(e)
	client.Timeout = answerFor
	for i := range n {
		session, err := client.Collect(ctx, q)
		if err != nil {
			c.close()
			return nil, fmt.Errorf("session %d of %d: %w", i+1, n, err)
		}
		c.list = append(c.list, session)
		if i == 0 {
			c.readers.Go(func() { c.err = c.count(session) })
			continue
		}
		c.readers.Go(func() { _, _ = io.Copy(io.Discard, session) }) // ends with Close
	}
	return c, nil
}

// count reads a session to its end.
func (c *sessions) count(in io.Reader) error {
	stats, err := readAll(in, nettrace.Options{Want: dotnetgc.Want}, func(e *nettrace.Event) {
		if e.ID == idGCStart {
			c.seen.collections++
		}
	})
	c.seen.events, c.seen.lost = stats.Events, stats.Lost
	return err
}

// readAll calls f with each event of a stream, up to its end.
func readAll(in io.Reader, o nettrace.Options, f func(*nettrace.Event)) (nettrace.Stats, error) {
	r, err := nettrace.NewReader(in, o)
	if err != nil {
		return nettrace.Stats{}, err
	}
	for {
		e, err := r.Next()
		if err == io.EOF {
			return r.Stats(), nil
		} else if err != nil {
			return r.Stats(), err
		}
		f(e)
	}
}

const idGCStart = 1 // runtime, src/coreclr/vm/ClrEtwAll.man

func (c *sessions) close() {
	for _, s := range c.list {
		_ = s.Close()
	}
	c.readers.Wait()
}

// end ends the sessions: the first in good order, since its events are counted, the
// others by closing them, which the runtime notices at the next event. It returns
// when the runtime has ended all; the service stays under load.
func (c *sessions) end(ctx context.Context, s *dotnetService) (seen, error) {
	if len(c.list) == 0 {
		return seen{}, nil
	}
	limit, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	c.seen.span = time.Since(c.begun)
	err := c.list[0].Stop(limit)
	for _, other := range c.list[1:] {
		_ = other.Close()
	}
	if err != nil {
		c.close()
		return seen{}, err
	}
	c.readers.Wait()
	c.close()
	if c.err != nil {
		return seen{}, fmt.Errorf("read session: %w", c.err)
	}
	for limit.Err() == nil {
		if threads, err := s.streaming(); err != nil || len(threads) == 0 {
			return c.seen, err
		}
		if _, err := s.load(ctx, 5*time.Millisecond); err != nil {
			return seen{}, err
		}
	}
	return seen{}, errors.New("the runtime has not ended its sessions")
}
