package gouprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// Source sees the stops and the collections of one Go process. Next and Evidence
// belong to one goroutine; the other methods may be called from any.
type Source struct {
	clock  stall.Clock
	target *target
	probes *probes
	begun  stall.Instant
	timer  *time.Timer
	quit   chan struct{}
	once   sync.Once

	turn    sync.Mutex // guards what follows
	stops   stops
	records []record // that were drained and not taken
	seen    stall.Instant
	mark    stall.Instant
	dropped uint64 // records that found no room, as of the last look
	unseen  time.Duration
	lost    uint64
	over    bool
	ended   bool  // and the process with it
	given   bool  // the last batch was returned
	err     error // of Close
}

// Supported tries a probe in this process, and returns why no Go program can be watched
// from here: fs.ErrPermission, stall.ErrNotSupported or another error of one line.
func Supported() error {
	if err := ownNamespace(); err != nil {
		return err
	}
	return tryFilter()
}

// Attach begins to watch a process, until Close or until it ends or executes another
// program. The error is one line: ErrEnded, goprogram.ErrNotGo, fs.ErrPermission,
// stall.ErrNotSupported, or says what in the program is not known.
//
// It does not come back where the file system or the memory of the process never
// answers: see package hungcall.
func Attach(o Options) (*Source, error) {
	s, err := attach(o)
	if err != nil {
		return nil, fmt.Errorf("attach to process %d: %w", o.PID, err)
	}
	return s, nil
}

func attach(o Options) (_ *Source, err error) {
	t, err := openTarget(o.PID)
	if err != nil {
		return nil, err
	}
	s := &Source{clock: o.Clock, target: t, quit: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.detach())
		}
	}()
	local, err := proc.TimeNamespace(s.clock, o.PID)
	if err != nil {
		return nil, readable(err)
	}
	if s.probes, err = attachProbes(t); err != nil {
		return nil, err
	}
	switch ended, other := t.look(); {
	case ended:
		return nil, ErrEnded
	case other:
		return nil, errors.New("it executes another program by now (try again)")
	}
	s.begun = s.clock.Now()
	s.mark, s.seen = s.begun, s.begun
	s.stops = stops{release: t.release, kind: t.kind, local: local, epoch: uint64(s.begun)}
	s.timer = time.NewTimer(batchEvery)
	return s, nil
}

// Next waits until the process has been looked at again, ten times a second. The error
// is io.EOF when the source was closed, or the process has ended or executed another
// program.
func (s *Source) Next(ctx context.Context) (source.Batch, error) {
	s.turn.Lock()
	ready := len(s.records) > 0 || s.over
	s.turn.Unlock()
	if !ready {
		select {
		case <-s.timer.C:
		case <-s.quit:
		case <-ctx.Done():
			return source.Batch{}, ctx.Err()
		}
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.given {
		return source.Batch{}, io.EOF
	}
	if len(s.records) == 0 && !s.over {
		s.timer.Reset(batchEvery)
		if err := s.look(); err != nil {
			return source.Batch{}, err
		}
	}
	return s.yield(), nil
}

// look drains the ring. The caller holds turn.
func (s *Source) look() (err error) {
	now := s.clock.Now()
	if s.records, err = s.probes.drain(s.records); err != nil {
		return err
	}
	s.seen, s.dropped = now, s.probes.lost
	switch ended, other := s.target.look(); {
	case other:
		// They may be of the program that it executes now.
		s.stops.wrong += uint64(len(s.records))
		s.records = s.records[:0]
		s.end()
	case ended:
		s.ended = true
		s.end()
	}
	return nil
}

// yield makes a batch of the records. The caller holds turn.
func (s *Source) yield() source.Batch {
	s.stops.reset()
	n, now := 0, s.clock.Now()
	for n < len(s.records) && s.stops.take(&s.records[n], now) {
		n++
	}
	s.records = s.records[:copy(s.records, s.records[n:])]
	b := &s.stops.batch
	from := s.mark
	if len(s.records) == 0 { // those are of a later epoch, and the next batch goes on with them
		if s.given = s.over; s.given {
			s.stops.cut("it was not watched to its end")
		}
		s.mark = max(s.mark, s.seen.Add(-holdBack))
		if s.ended {
			s.mark = s.seen
		}
	}
	if lost := s.dropped + s.stops.wrong; lost > s.lost {
		b.Lost.Count = lost - s.lost
		s.lost = lost
		b.Unseen = append(b.Unseen, stall.Span{Start: from, End: s.seen})
		s.unseen += s.seen.Sub(from)
	}
	b.Watermark = s.mark
	return *b
}

// end detaches. The caller holds turn.
func (s *Source) end() {
	if !s.over {
		s.over = true
		s.err = s.detach()
	}
}

func (s *Source) detach() error {
	s.target.close()
	if s.probes == nil {
		return nil
	}
	if err := s.probes.close(); err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	return nil
}

// Evidence returns the runtime's own name for the reason of interval i of the last
// batch, such as "read mem stats".
func (s *Source) Evidence(i int) string { return s.stops.evidence[i] }

// Status returns what was watched so far.
func (s *Source) Status() source.Status {
	s.turn.Lock()
	defer s.turn.Unlock()
	t := source.Status{Origin: stall.GoUprobe, Observed: s.seen.Sub(s.begun), Coverage: 1, Lost: source.Loss{Count: s.lost}}
	if t.Observed > 0 {
		t.Coverage = max(0, 1-float64(s.unseen)/float64(t.Observed))
	}
	return t
}

// Close reads what is left, for Next, and detaches: when it returns, the code of the
// process is as it was. A second Close does nothing and returns the same.
func (s *Source) Close() error {
	s.once.Do(func() {
		s.turn.Lock()
		defer s.turn.Unlock()
		if !s.over {
			err := s.look()
			s.end()
			s.err = errors.Join(err, s.err)
		}
		s.timer.Stop()
		close(s.quit)
	})
	return s.err
}
