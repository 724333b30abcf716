package board

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// SourceOptions configure a Source. Paths and Clock are required.
type SourceOptions struct {
	Paths []string // where the board may be, the better place first: see [Paths]
	Clock stall.Clock
	// Every is the time between two reads; 250 ms if zero. Retry is that between
	// two tries where there is no board; 5 s if zero.
	Every, Retry time.Duration
}

// Source reads the board of a host: whichever there is, and when there is one. Its
// intervals are the records, those that say when a process was watched among them,
// see [Watched].
type Source struct {
	o      SourceOptions
	closed chan struct{}
	once   sync.Once

	// Of the caller of Next:
	timer   *time.Timer
	over    bool
	reader  *Reader
	gaps    []stall.Interval
	seen    stall.Instant // the watermark so far
	known   stall.Instant // what ended before was read before the board was lost
	trouble error         // of a better board, to be returned
}

var _ source.Source = (*Source)(nil)

// NewSource returns a source that has seen nothing before now.
func NewSource(o SourceOptions) *Source {
	o.Every, o.Retry = cmp.Or(o.Every, 250*time.Millisecond), cmp.Or(o.Retry, 5*time.Second)
	return &Source{o: o, closed: make(chan struct{}), timer: time.NewTimer(0), seen: o.Clock.Now()}
}

// Next returns what is new on the board, at the time when it is to be read. Where
// there is none, or none that can be believed, it returns the error of [Open], and
// tries again when it is called again. A board that is read while a better one cannot
// be is followed by that one's error.
func (s *Source) Next(ctx context.Context) (source.Batch, error) {
	if s.over {
		return source.Batch{}, io.EOF
	}
	if err := s.trouble; err != nil {
		s.trouble = nil
		return source.Batch{}, err
	}
	select {
	case <-s.timer.C:
	case <-s.closed:
		s.over = true
		defer s.lose()
	case <-ctx.Done():
		return source.Batch{}, ctx.Err()
	}
	s.timer.Reset(s.o.Retry)
	if s.reader == nil {
		r, err := Open(s.o.Paths...)
		if err != nil {
			return source.Batch{}, err
		}
		s.reader, s.known = r, s.seen
	}
	var status Status
	var err error
	if s.gaps, status, err = s.reader.Read(s.gaps[:0]); err != nil {
		s.lose()
		return source.Batch{}, err
	}
	s.timer.Reset(s.o.Every)
	s.trouble = status.Next
	return s.batch(&status), nil
}

func (s *Source) batch(status *Status) source.Batch {
	b := source.Batch{
		Epoch: status.Generation, Watermark: status.Watermark, Unseen: status.Unseen,
		Intervals: slices.DeleteFunc(s.gaps, func(v stall.Interval) bool { return v.End <= s.known }),
		Lost:      source.Loss{Count: status.Lost},
	}
	if status.Since > s.seen {
		b.Unseen = append(b.Unseen, stall.Span{Start: s.seen, End: status.Since})
	}
	s.seen = max(s.seen, status.Watermark)
	return b
}

func (s *Source) lose() {
	if s.reader != nil {
		_ = s.reader.Close() // it was only read
		s.reader = nil
	}
}

// Close ends the source, and does not wait for Next.
func (s *Source) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}
