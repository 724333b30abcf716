package main

import (
	"context"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/spread"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

// measureStall stops readers for a while, and looks what the service says to
// that: the sidecar as it is, and a reader of a flood of events that overflows
// the runtime's buffer.
func (b *bench) measureStall(ctx context.Context, s *report.Section) error {
	service, err := b.start(ctx, "DOTNET_GCgen0size=40000")
	if err != nil {
		return err
	}
	defer service.Kill()
	table := [][]string{{"requests answered", "for", "number/s", "p50", "p99", "longest"}}
	before, err := service.load(ctx, b.stall/3)
	if err != nil {
		return err
	}
	table = append(table, before.row("nobody attached"))
	stopped, saw, err := b.stopSidecar(ctx, service)
	if err != nil {
		return err
	}
	table = append(table, stopped.row("the sidecar attached and stopped (SIGSTOP)"))
	flooded, read, err := b.flood(ctx, service)
	if err != nil {
		return err
	}
	table = append(table, flooded.row("a flood of events that nobody reads"))
	after, err := service.load(ctx, b.stall/3)
	if err != nil {
		return err
	}
	table = append(table, after.row("nobody attached"))
	s.Para("**A reader that stalls** for %v, small gen0:", b.stall)
	s.Table(table)
	hole := saw.LastIndex - saw.FirstIndex + 1 - saw.Collections.Total
	s.Para("The sidecar that was stopped went on with the same session (%d in all): %d collections, %d missing among their numbers, %d incomplete, %d events lost. "+
		"Of the flood, with a buffer of %d MB, %d events had been kept and %d were dropped, each of them counted when the stream was read at last, to its end.",
		saw.Sessions, saw.Collections.Total, hole, saw.Incomplete, saw.Lost, floodMB, read.Events, read.Lost)
	return service.Stop()
}

func (l *stretch) row(name string) []string {
	ms := func(q float64) string { return fmt.Sprintf("%.1f ms", spread.Quantile(l.answers, q)) }
	rate := float64(len(l.answers)) / l.wall.Seconds()
	return []string{name, l.wall.Round(time.Second).String(), fmt.Sprintf("%.0f", rate), ms(0.5), ms(0.99), ms(1)}
}

// stopSidecar stops the sidecar in its tracks while it watches.
func (b *bench) stopSidecar(ctx context.Context, s *service) (l stretch, w watched, err error) {
	side, err := b.attach(1, byName(0)...)
	if err != nil {
		return l, w, err
	}
	l, err = func() (stretch, error) {
		if _, err := s.load(ctx, b.settle); err != nil {
			return l, err
		}
		if err := side.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return l, err
		}
		l, err := s.load(ctx, b.stall)
		if err != nil {
			return l, err
		}
		if err := side.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			return l, err
		}
		_, err = s.load(ctx, b.settle)
		return l, err
	}()
	if err != nil {
		side.kill()
		return l, w, err
	}
	saw, err := side.detach()
	if err != nil {
		return l, w, err
	}
	b.say("stopped for %v: %+v", b.stall, saw[0])
	return l, saw[0], nil
}

// floodMB is the runtime's buffer for the flood.
const floodMB = 1

// flooding asks for all that a busy server has to say.
func flooding() dotnetipc.Request {
	return dotnetipc.Request{BufferMB: floodMB, Providers: []dotnetipc.Provider{
		// GC, loader, JIT, exceptions, threading.
		{Name: "Microsoft-Windows-DotNETRuntime", Keywords: 0x1 | 0x8 | 0x10 | 0x8000 | 0x10000, Level: 5},
		{Name: "System.Threading.Tasks.TplEventSource", Keywords: 0x3ff, Level: 5},
	}}
}

// flood begins a session and reads nothing of it for a while, then all.
func (b *bench) flood(ctx context.Context, s *service) (l stretch, stats nettrace.Stats, err error) {
	e, err := dotnetipc.Proc{}.Locate(ctx, s.PID())
	if err != nil {
		return l, stats, err
	}
	client := dotnetipc.NewClient(e)
	client.Timeout = answerFor
	session, err := client.Collect(ctx, flooding())
	if err != nil {
		return l, stats, err
	}
	defer func() { _ = session.Close() }()
	if l, err = s.load(ctx, b.stall); err != nil {
		return l, stats, err
	}
	type result struct {
		stats nettrace.Stats
		err   error
	}
	end := make(chan result, 1)
	go func() {
		stats, err := readAll(session)
		end <- result{stats, err}
	}()
	limit, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	if err := session.Stop(limit); err != nil {
		return l, stats, err
	}
	r := <-end
	b.say("flood for %v: %+v", b.stall, r.stats)
	return l, r.stats, r.err
}

// readAll reads a stream to its end.
func readAll(in io.Reader) (nettrace.Stats, error) {
	r, err := nettrace.NewReader(in, nettrace.Options{})
	if err != nil {
		return nettrace.Stats{}, err
	}
	for {
		if _, err := r.Next(); err == io.EOF {
			return r.Stats(), nil
		} else if err != nil {
			return r.Stats(), err
		}
	}
}
