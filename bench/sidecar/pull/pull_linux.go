// Package pull takes slices of a Go process's execution trace, as the sidecar does.
package pull

import (
	"context"
	"fmt"

	"github.com/otelgc/otelgc/internal/gopprof"
	"github.com/otelgc/otelgc/stall"
)

// Request is a request that a slice has from begin to end, and who had its time.
type Request struct {
	stall.Span
	Name  string
	Share stall.Share
	Moved bool // another goroutine ended it: only its stops are known
}

// Slice is what one slice has.
type Slice struct {
	Requests []Request
	Seen     []stall.Span // of the time, by time
	Cut      uint64       // requests that it does not have from begin to end
	Lost     uint64       // goroutines and records of which there was too much to keep
}

// Take asks a process for one slice, at an endpoint of net/http/pprof. It comes a second
// later, since that is how long the sidecar waits after the attach.
func Take(ctx context.Context, pid int, url string, clock stall.Clock) (t Slice, err error) {
	s, err := gopprof.Open(gopprof.Options{PID: pid, URL: url, Clock: clock})
	if err != nil {
		return t, err
	}
	defer func() { _ = s.Close() }() // it has no error
	from := clock.Now()
	for s.Status().Slices+s.Status().Failed == 0 {
		b, err := s.Next(ctx)
		if err != nil {
			return t, fmt.Errorf("take a slice: %w", err)
		}
		for _, u := range b.Unseen {
			from = max(from, u.End)
		}
		if b.Watermark > from {
			t.Seen = append(t.Seen, stall.Span{Start: from, End: b.Watermark})
			from = b.Watermark
		}
		for _, q := range s.Requests() {
			t.Requests = append(t.Requests, Request{Span: q.Span, Name: q.Name, Share: q.Share, Moved: q.Moved})
		}
	}
	status := s.Status()
	t.Cut, t.Lost = status.Cut.Begin+status.Cut.End+status.Cut.Over, status.Incomplete
	return t, status.Err
}
