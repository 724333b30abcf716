package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

// amplifier is a kind of service, the request of its sessions, and what came of it.
type amplifier struct {
	name   string
	rounds int
	env    []string
	levels []int    // numbers of sessions that a round goes through
	beats  [][]beat // by round and level
}

const (
	usual = "default heap"
	many  = "many collections"
)

// beat is what a service did in one stretch with some sessions.
type beat struct {
	stretch
	streaming time.Duration // CPU of the threads that write the sessions
	seen      seen          // by the first
}

// amplify goes through the levels, up and down in turn, so that what changes in
// the process or the machine with time favors none.
func (b *dotnet) amplify(ctx context.Context, a *amplifier) error {
	return b.withService(ctx, a.env, func(s *dotnetService) (err error) {
		last := len(a.levels) - 1
		for i := range a.rounds {
			round := make([]beat, len(a.levels))
			for at := range a.levels {
				if i%2 == 1 {
					at = last - at
				}
				if round[at], err = b.beatWith(ctx, s, a.levels[at]); err != nil {
					return err
				}
			}
			a.beats = append(a.beats, round)
			b.Logf("%s: round %d: %.3f ms, with %d sessions %.3f ms", a.name, i+1, round[0].perRequest(), a.levels[last], round[last].perRequest())
		}
		return nil
	})
}

func (b *dotnet) beatWith(ctx context.Context, s *dotnetService, n int) (v beat, err error) {
	c, err := openSessions(ctx, s, n, request())
	defer c.close()
	if err != nil {
		return v, err
	}
	if _, err := s.load(ctx, b.beat/4); err != nil {
		return v, err
	}
	_, before, err := s.streaming()
	if err != nil {
		return v, err
	}
	if v.stretch, err = s.load(ctx, b.beat); err != nil {
		return v, err
	}
	_, after, err := s.streaming()
	if err != nil {
		return v, err
	}
	v.streaming = after - before
	v.seen, err = c.end(ctx, s)
	return v, err
}

// each returns f of the beats of one level, beside those of the same round without
// sessions.
func (a *amplifier) each(at int, f func(v, none beat) float64) []float64 {
	return harness.Each(a.beats, func(r []beat) float64 { return f(r[at], r[0]) })
}

// median returns the middle of f of the beats of one level.
func (a *amplifier) median(at int, f func(beat) float64) float64 {
	return harness.Median(a.each(at, func(v, _ beat) float64 { return f(v) }))
}

// more returns how much more CPU a request takes with the sessions of a level.
func (a *amplifier) more(at int) []float64 {
	return a.each(at, func(v, none beat) float64 { return v.more(none.stretch) })
}

// fixed returns what of that does not grow with their number.
func (a *amplifier) fixed() harness.Interval {
	last := len(a.levels) - 1
	all := a.more(last - 1)
	for i, v := range a.more(last) {
		all[i] = 2*all[i] - v
	}
	return harness.Of(all)
}

// rate returns the collections in a second of the service's CPU.
func (a *amplifier) rate() float64 {
	return a.median(1, beat.collections) / a.median(0, func(v beat) float64 { return v.cpu.Seconds() / v.wall.Seconds() })
}

func (v beat) collections() float64 {
	return float64(v.seen.collections) / max(1e-9, v.seen.span.Seconds())
}
func (v beat) events() float64 { return float64(v.seen.events) / max(1e-9, v.seen.span.Seconds()) }

// measureSessions writes what one session costs, by many.
func (b *dotnet) measureSessions(ctx context.Context) error {
	table := harness.NewTable("setting | sessions at once | rounds | collections/s | CPU per request more, median | 95 % interval | " +
		"of it each session | 95 % interval | a session's own thread, of one CPU | events/s of a session")
	levels := []int{0, 1, b.sessions / 2, b.sessions}
	found := make(map[string]*amplifier)
	var fixed []string
	lost := uint64(0)
	for _, a := range []*amplifier{
		{name: usual, rounds: b.rounds},
		{name: many, rounds: b.rounds, env: []string{smallGen0}},
	} {
		if a.rounds == 0 {
			continue
		}
		a.levels, found[a.name] = levels, a
		if err := b.amplify(ctx, a); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		for at, n := range levels {
			for _, round := range a.beats {
				lost += round[at].seen.lost
			}
			if n == 0 {
				continue
			}
			all, one := harness.Of(a.more(at)), 1/float64(n)
			table.Row("%s | %d | %d | %.1f | %.2f %% | %v | %.3f %% | %s | %.3f %% | %.0f", a.name, n, len(a.beats), a.median(at, beat.collections),
				all.Median, all, all.Median*one, all.Times(one).Text(3),
				a.median(at, func(v beat) float64 { return 100 * v.streaming.Seconds() / v.wall.Seconds() * one }), a.median(at, beat.events))
		}
		fixed = append(fixed, fmt.Sprintf("%s %.2f %% (%v)", a.name, a.fixed().Median, a.fixed()))
	}
	most := b.sessions
	b.Para("**One session, by many at once.** The runtime writes every event once for each session, into buffers of that session, and each session has a thread of "+
		"its own that sends them every 100 ms. So %d sessions with exactly the sidecar's provider, keywords, level and event ids cost that part %d times, and their cost divided by "+
		"their number is that of one, with %d times less noise. Within one process, stretches of %v with 0, 1, %d and %d sessions follow each other, "+
		"up and down in turn, each behind %v that are not measured. Every session is drained on the other CPUs and thrown away. "+
		"Many collections: `DOTNET_GCgen0size=40000`.",
		most, most, most, b.beat, most/2, most, b.beat/4)
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
func (a *amplifier) allParts(at *amplifier) string {
	factor, v := at.rate()/a.rate(), harness.Of(a.more(1))
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

// client returns one of a service's diagnostics socket.
func (s *dotnetService) client(ctx context.Context) (*dotnetipc.Client, error) {
	e, err := dotnetipc.Proc{}.Locate(ctx, s.PID())
	if err != nil {
		return nil, err
	}
	client := dotnetipc.NewClient(e)
	client.Timeout = answerFor
	return client, nil
}

// openSessions begins n sessions with a service. With an error, some of them are open.
func openSessions(ctx context.Context, s *dotnetService, n int, q dotnetipc.Request) (*sessions, error) {
	c := &sessions{begun: time.Now()}
	if n == 0 {
		return c, nil
	}
	client, err := s.client(ctx)
	if err != nil {
		return c, err
	}
	for i := range n {
		session, err := client.Collect(ctx, q)
		if err != nil {
			return c, fmt.Errorf("session %d of %d: %w", i+1, n, err)
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
		return seen{}, err
	}
	c.readers.Wait()
	if c.err != nil {
		return seen{}, fmt.Errorf("read session: %w", c.err)
	}
	c.close()
	for limit.Err() == nil {
		if threads, _, err := s.streaming(); err != nil || len(threads) == 0 {
			return c.seen, err
		}
		if _, err := s.load(ctx, 5*time.Millisecond); err != nil {
			return seen{}, err
		}
	}
	return seen{}, errors.New("the runtime has not ended its sessions")
}
