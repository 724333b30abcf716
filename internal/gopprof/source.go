// Package gopprof takes the execution trace of another Go process in slices, from the
// endpoint /debug/pprof/trace that net/http/pprof serves, within a budget of that process's
// own CPU time.
//
// A slice has every stop and collection, and the requests that are user tasks: the
// OpenTelemetry SDK makes one of each recording span while a trace runs. What lies between
// slices is unseen, and so are requests that a slice does not show whole.
//
// The process ends a slice after the seconds that were asked for, whoever reads it, and at
// once when the connection is closed. One that is not read costs it the memory of a slice.
package gopprof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/evidence"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// DefaultBudget is the default of Options.Budget.
const DefaultBudget = 0.01

// Auto is the Options.URL that has the endpoint looked for.
const Auto = "auto"

// Options say whose trace is taken, and from where.
type Options struct {
	PID int // of the process, in our PID namespace
	// URL is scheme, host and port of the endpoint, and its user and password if it
	// wants them. Where it has no path, that is /debug/pprof/trace. With Auto the
	// sockets are tried on which the process listens on loopback, if it shares our
	// network namespace.
	URL   string
	Clock stall.Clock
	// Budget is the share of the process's CPU time that traces may cost it.
	// DefaultBudget if 0.
	Budget float64
	// Turn, if not nil, is held while a slice is taken: send to have it, receive to
	// give it back. Its capacity is how many slices are taken at once.
	Turn chan struct{}
}

// Source is a [source.Source] of the stops and collections in the slices. Its methods but
// Close and Slicing belong to one goroutine.
type Source struct {
	o        Options
	fetch    fetcher
	budget   budget
	requests *evidence.Requests
	options  gotrace.Options
	reader   *gotrace.Reader // nil where none is kept

	body   *body         // of the slice that is being read, nil for none
	due    stall.Instant // of the next slice
	length time.Duration
	cost   gotrace.Cost
	begun  stall.Instant

	batch   source.Batch
	done    []evidence.Request
	reasons []string
	status  Status

	turn    atomic.Bool     // we have Options.Turn
	slicing atomic.Int64    // see Slicing
	over    context.Context // done after Close
	cancel  context.CancelFunc
}

// Status counts what a Source did since it was opened.
type Status struct {
	Slices     uint64        // that were taken whole
	Failed     uint64        // that were asked for in vain, or ended early
	Traced     time.Duration // of both
	Bytes      int64
	Endpoint   string // that answered, without user and password; empty before
	Err        error  // of the last slice; nil if it was taken whole
	Incomplete uint64 // goroutines and records of which there was too much to keep
	Cut        evidence.Cut
}

// Open returns a Source of a process that is there. The first slice is asked for by Next.
func Open(o Options) (*Source, error) {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if !(o.Budget > 0 && o.Budget <= 1) {
		return nil, fmt.Errorf("open pprof of process %d: budget %v is not between 0 and 1", o.PID, o.Budget)
	}
	f, err := newFetcher(o.PID, o.URL)
	if err != nil {
		return nil, fmt.Errorf("open pprof of process %d: %w", o.PID, err)
	}
	offset, err := proc.TimeNamespace(o.Clock, o.PID)
	if err != nil {
		offset = o.Clock.Namespace() // as ours: sameClock will find out
	}
	s := &Source{
		o: o, fetch: f, requests: evidence.NewRequests(o.Clock.Now()),
		options: gotrace.Options{Tasks: true, Offset: -offset, Limits: limits},
		budget:  budget{share: o.Budget},
	}
	s.over, s.cancel = context.WithCancel(context.Background())
	if s.budget.created, err = s.budget.look(o.PID, o.Clock.Now()); err != nil {
		s.cancel()
		return nil, fmt.Errorf("open pprof of process %d: %w", o.PID, err)
	}
	s.due = o.Clock.Now().Add(firstRest)
	return s, nil
}

// limits bound the memory of a slice: 300,000 events are 2 MB.
var limits = gotrace.Limits{
	GenerationBytes: 16 << 20, TableBytes: 8 << 20, Strings: 1 << 16, Stacks: 1 << 16, Threads: 1 << 14,
	Transitions: 1 << 20, Records: 1 << 15, Followed: 1 << 14, Names: 1 << 12,
}

// Next waits for the next generation of a slice, or the end of one, and returns once a
// second while there is none: that time is unseen. Why a slice failed is
// in Status, and its time is unseen. A slice ends when ctx is done. Another error than that
// of ctx and io.EOF says that the process is gone.
func (s *Source) Next(ctx context.Context) (source.Batch, error) {
	s.begin()
	if s.body == nil {
		if due, err := s.wait(ctx); err != nil {
			return source.Batch{}, err
		} else if !due {
			s.requests.UnseenUntil(s.o.Clock.Now())
			s.batch = s.requests.Batch
			return s.batch, nil
		}
		s.begun, s.length, s.cost = s.o.Clock.Now(), sliceLength, gotrace.Cost{}
		s.slicing.Store(int64(s.begun))
		if s.status.Err = s.open(ctx); s.status.Err != nil {
			return s.end(), nil
		}
	}
	defer context.AfterFunc(ctx, s.body.cancel)()
	g, err := s.reader.Next()
	switch {
	case errors.Is(err, io.EOF):
		return s.end(), nil
	case err != nil:
		s.status.Err = s.body.explain(err)
		return s.end(), nil
	case !s.sameClock(g):
		s.status.Err = fmt.Errorf("read trace of %s: it is of another clock, or another time", s.body.endpoint)
		return s.end(), nil
	}
	s.learn(g)
	return s.batch, nil
}

// clockTolerance bounds how far a slice may lie outside of the time in which it was asked
// for.
const clockTolerance = time.Millisecond

// sameClock reports whether the instants of a generation can be ours.
func (s *Source) sameClock(g *gotrace.Generation) bool {
	return g.Shared && g.Start >= s.begun.Add(-clockTolerance) && g.End <= s.o.Clock.Now().Add(clockTolerance)
}

// wait rests for a second, or until a slice is due and it is our turn. It reports whether
// that is so.
func (s *Source) wait(ctx context.Context) (due bool, err error) {
	if s.over.Err() != nil {
		return false, io.EOF
	}
	left := s.due.Sub(s.o.Clock.Now())
	timer := time.NewTimer(min(left, restFor))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false, ctx.Err()
	case <-s.over.Done():
		return false, io.EOF
	}
	if left > restFor {
		return false, nil
	}
	if s.o.Turn != nil {
		select {
		case s.o.Turn <- struct{}{}:
			s.turn.Store(true)
		default:
			s.due = s.o.Clock.Now().Add(restFor)
			return false, nil // another process is asked just now
		}
	}
	created, err := s.budget.look(s.o.PID, s.o.Clock.Now())
	if err == nil && created != s.budget.created {
		err = os.ErrProcessDone
	}
	if err != nil {
		s.release()
		return false, fmt.Errorf("read CPU time of process %d: %w", s.o.PID, err)
	}
	return true, nil
}

// release gives the turn back, if we have it.
func (s *Source) release() {
	if s.turn.CompareAndSwap(true, false) {
		<-s.o.Turn
	}
}

// open asks for a slice, and reads its header, until ctx is done.
func (s *Source) open(ctx context.Context) error {
	asked, cancel := context.WithCancel(s.over)
	defer context.AfterFunc(ctx, cancel)()
	b, err := s.fetch.get(asked, s.length)
	if err != nil {
		cancel()
		return err
	}
	s.body, b.cancel = b, cancel
	if s.status.Endpoint == "" {
		s.status.Endpoint = b.endpoint
	}
	if s.reader == nil {
		s.reader, err = gotrace.NewReader(b, s.options)
	} else {
		err = s.reader.Reset(b)
	}
	if err != nil {
		return b.explain(err)
	}
	return nil
}

// begin begins a batch.
func (s *Source) begin() {
	if s.body == nil {
		s.slicing.Store(0) // what it told was taken
	}
	s.requests.Begin()
	s.done, s.reasons = nil, s.reasons[:0]
	s.batch = s.requests.Batch
}

// learn takes in a generation.
func (s *Source) learn(g *gotrace.Generation) {
	done, unfollow, lost := s.requests.Learn(g, func() {})
	for _, id := range unfollow {
		s.reader.Unfollow(id)
	}
	for stop, c := range gotrace.InOrder(g.Stops, g.Cycles) {
		if c == nil {
			s.reasons = append(s.reasons, stop.Reason)
		}
	}
	s.cost.Add(g)
	s.done, s.batch = done, s.requests.Batch
	lost += g.Lost.Tasks + g.Lost.Followed + g.Lost.Tracks
	if g.Truncated {
		lost++
	}
	s.status.Incomplete += lost
	s.batch.Lost.Count = lost
}

// end ends a slice, and plans the rest after it. A slice that failed is charged, too.
func (s *Source) end() source.Batch {
	now := s.o.Clock.Now()
	if s.body != nil {
		s.body.close()
		s.status.Bytes += s.body.read
		s.cost.Bytes, s.body = s.body.read, nil
		s.status.Traced += now.Sub(s.begun)
	}
	s.release()
	s.requests.Over()
	if s.status.Err == nil {
		s.status.Slices++
	} else {
		s.status.Failed++
		s.reader = nil // whatever it holds is not to be trusted
	}
	if s.over.Err() != nil {
		s.requests.UnseenUntil(now)
	}
	cut := s.requests.TakeCut()
	s.status.Cut.Begin += cut.Begin
	s.status.Cut.End += cut.End
	s.status.Cut.Over += cut.Over
	_, err := s.budget.look(s.o.PID, now)
	s.budget.plan(s.cost, now.Sub(s.begun), s.status.Err != nil || err != nil)
	s.due = now.Add(s.budget.rest)
	if s.budget.rest > longRest {
		s.reader = nil // its memory is for the others meanwhile
	}
	s.batch = s.requests.Batch
	return s.batch
}

// Slicing returns when the slice was asked for that is being taken, or of which Next has
// returned the end and was not called since; 0 if there is none. Any goroutine may call it.
func (s *Source) Slicing() stall.Instant { return stall.Instant(s.slicing.Load()) }

// Requests returns those that ended in the last batch, valid until the next call of Next.
func (s *Source) Requests() []evidence.Request { return s.done }

// Reason returns the runtime's reason of the i-th interval of the last batch.
func (s *Source) Reason(i int) string {
	if i < len(s.reasons) {
		return s.reasons[i]
	}
	return ""
}

// Status returns what was done so far.
func (s *Source) Status() Status { return s.status }

// Asked returns what is asked, without user and password: an endpoint, or Auto.
func (s *Source) Asked() string {
	if s.fetch.auto {
		return Auto
	}
	return plain(s.fetch.url)
}

// Close ends the slice that is being taken; the process then ends its trace. Next returns
// what is left, and then io.EOF. It need not be called: nothing is held any longer.
func (s *Source) Close() error {
	s.cancel()
	s.release()
	return nil
}

// Check reports why a URL is none of Options.URL. An empty one is none at all.
func Check(text string) error {
	if text == "" || text == Auto {
		return nil
	}
	_, err := parse(text)
	return err
}

// parse checks an endpoint as it was given.
func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("parse URL: want http://HOST:PORT") // its error repeats the password
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("parse URL %s: want http://HOST:PORT", u.Redacted())
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracePath
	}
	return u, nil
}

// seconds is how a length is asked for.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
