package exact

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
)

// maxTransitions bounds what the decoder keeps of the states of goroutines, 24
// bytes each, in one generation. Over it, those of goroutines that are not followed go first.
const maxTransitions = 1 << 20

// follower decodes one slice as it streams.
type follower struct {
	x *Tracer
	s *stream

	gaveUp chan struct{} // closed when the decoder cannot go on
	done   chan struct{}

	events, generations, goroutines int64         // read after done
	decode                          time.Duration // read after done
	err                             error         // read after gaveUp or done
}

func newFollower(x *Tracer, s *stream) *follower {
	return &follower{x: x, s: s, gaveUp: make(chan struct{}), done: make(chan struct{})}
}

// run decodes until the stream is closed. An error, or a panic of the decoder,
// ends exact fidelity for the slice and nothing else.
func (f *follower) run() {
	defer close(f.done)
	if err := f.follow(); !errors.Is(err, io.EOF) {
		f.err = err
		f.x.reader = nil // whatever it holds is not to be trusted
		close(f.gaveUp)
		for range f.s.ready { // so that the writer's memory is bounded until the slice ends
		}
	}
}

func (f *follower) follow() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decode trace: %v", r)
		}
	}()
	pace := &f.x.pace
	*pace = pacer.New(f.x.clock)
	in := &streamReader{s: f.s, pace: pace}
	reader, err := f.x.open(in)
	if err != nil {
		return f.ended(err)
	}
	for _, id := range f.x.Store.carriers() {
		reader.Follow(id)
	}
	for {
		g, err := reader.Next()
		if err != nil {
			return f.ended(err)
		}
		if f.x.Store.raw.wanted.Load() {
			f.x.Store.spare.raw = raw{
				header: f.s.begin(), data: in.take(), free: f.s.free,
				follows: f.generations > 0 && g.Lost.Generations == 0,
			}
		}
		for _, id := range f.x.learn(g) {
			reader.Unfollow(id)
		}
		f.events += g.Events
		f.generations++
		f.goroutines += int64(g.Goroutines)
		f.decode = pace.Worked
	}
}

// learn takes in a generation. It returns the goroutines that need not be followed
// any longer.
func (x *Tracer) learn(g *gotrace.Generation) (unfollow []uint64) {
	unfollow, lost := x.Store.Learn(g, &x.pace)
	x.Observer.Dropped("track", "limit", lost)
	x.Observer.Generation(g)
	return unfollow
}

// open makes the decoder, or begins anew with the last one's memory.
func (x *Tracer) open(in io.Reader) (*gotrace.Reader, error) {
	if x.reader != nil {
		return x.reader, x.reader.Reset(in)
	}
	r, err := gotrace.NewReader(in, gotrace.Options{
		MarkPrefix: gotrace.WindowMarks,
		Breathe:    x.pace.Breathe,
		Limits:     x.Limits,
	})
	x.reader = r
	return r, err
}

// ended returns io.EOF where the stream was closed before its header came: the
// decoder calls that a truncation.
func (f *follower) ended(err error) error {
	if f.generations == 0 && errors.Is(err, io.ErrUnexpectedEOF) && f.s.begin() == nil {
		return io.EOF
	}
	return err
}

// addTo adds what was counted to the cost of the slice.
func (f *follower) addTo(c *sliceCost) {
	c.events, c.generations, c.goroutines, c.decode = f.events, f.generations, f.goroutines, f.decode
}

// failed reports whether the decoder gave up.
func (f *follower) failed() bool { return isClosed(f.gaveUp) }

// fatal returns the error if it will come again with every slice: the
// runtime's format is not known.
func (f *follower) fatal() error {
	if errors.Is(f.err, gotrace.ErrVersion) {
		return f.err
	}
	return nil
}
