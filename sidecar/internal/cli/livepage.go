package cli

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/page"
	"github.com/otelgc/otelgc/sidecar/internal/target"
)

// livePage is the page of a run, and who serves it. The zero one is none, and does nothing.
type livePage struct {
	*page.Page
	listener net.Listener
	server   *page.Server
}

// listen takes the address of the page, before anything else is begun.
func (l *livePage) listen(address string) (err error) {
	if address == "" {
		return nil
	}
	l.listener, err = page.Listen(address)
	switch {
	case errors.Is(err, page.ErrNotLoopback):
		return wrong("--page %s: %w", address, err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--page %s: %w: name another port, or 0 for any that is free", address, syscall.EADDRINUSE)
	case err != nil:
		return fmt.Errorf("--page %s: %w", address, err)
	}
	return nil
}

// serve begins to serve the page.
func (l *livePage) serve(s *sidecar) {
	if l.listener == nil {
		return
	}
	l.Page = page.New(page.Options{
		Clock: s.probe.Clock, Losses: s.export.telemetry.Losses,
		Unexported: func() *otelenv.Unexported { return s.providers.Unexported(nil) },
	})
	l.server = page.Serve(l.listener, l.Page)
	s.log.Info("page", "url", l.server.URL())
}

// report tells the page how far the probes are.
func (l *livePage) report(s *sidecar) {
	if l.Page == nil {
		return
	}
	m := page.Machine{AllCPUs: s.watch.AllCPUs()}
	m.Board, m.Note = s.watch.Board()
	for i, p := range s.watch.Probes() {
		o := s.probe
		if i > 0 {
			o.Threshold = 0 // that of its mode
		}
		one := page.Probe{Mode: p.Mode().String(), CPU: p.CPU(), Threshold: threshold(o, p.Mode()), Note: p.Note(), Snapshot: p.Seen()}
		for _, limit := range p.Limits() {
			one.Limits = append(one.Limits, limit.String())
		}
		m.Probes = append(m.Probes, one)
	}
	l.Watched(m)
}

// progress returns what takes in how far processes were watched, nil for no page.
func (l *livePage) progress() func(target.Progress) {
	if l.Page == nil {
		return nil
	}
	return l.Progress
}

// close ends the page.
func (l *livePage) close() {
	l.server.Close()
	if l.listener != nil {
		_ = l.listener.Close() // of a run that did not begin to serve it
	}
}

// keeper returns what takes in all that a recording keeps: the recorder, the page or both;
// nil for neither.
func (s *sidecar) keeper() func(recording.Record) {
	add := s.record.adder()
	switch {
	case s.page.Page == nil:
		return add
	case add == nil:
		return s.page.Record
	}
	return func(r recording.Record) {
		add(r)
		s.page.Record(r)
	}
}
