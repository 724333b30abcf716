package otelgc

import (
	"context"
	"errors"
	"io"

	"github.com/otelgc/otelgc/stall/source"
)

// reader reads a source until it is over. A nil reader reads none.
type reader struct {
	source source.Source
	done   chan struct{} // closed when the source is over
}

// read begins to read s, on a goroutine of its own. Failed is called with each error,
// and reports whether to read on.
func read(s source.Source, take func(*source.Batch), failed func(error) bool) *reader {
	r := &reader{s, make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			b, err := s.Next(context.Background())
			switch {
			case err == nil:
				take(&b)
			case errors.Is(err, io.EOF) || !failed(err):
				return
			}
		}
	}()
	return r
}

// close ends the source, and returns when all of it was read.
func (r *reader) close() error {
	if r == nil {
		return nil
	}
	err := r.source.Close()
	<-r.done
	return err
}
