package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
)

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

// crowd is a number of sessions at once, each read by somebody who throws away
// what comes. Of the first it is counted.
type crowd struct {
	sessions []*dotnetipc.Session
	readers  sync.WaitGroup
	begun    time.Time
	seen     seen
	err      error // of the first reader
}

// seen is what one session was sent.
type seen struct {
	events, collections, lost uint64
	span                      time.Duration
}

// answerFor is how long the runtime may take to begin a session or to end them:
// its server is a thread among those that the load keeps busy.
const answerFor = time.Minute

// gather begins n sessions with a service.
func gather(ctx context.Context, s *service, n int, q dotnetipc.Request) (*crowd, error) {
	c := &crowd{begun: time.Now()}
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
		c.sessions = append(c.sessions, session)
		if i == 0 {
			c.readers.Go(func() { c.err = c.count(session) })
			continue
		}
		c.readers.Go(func() { _, _ = io.Copy(io.Discard, session) }) // ends with Close
	}
	return c, nil
}

// count reads a session to its end.
func (c *crowd) count(in io.Reader) error {
	r, err := nettrace.NewReader(in, nettrace.Options{Want: dotnetgc.Want})
	if err != nil {
		return err
	}
	defer func() { c.seen.events, c.seen.lost = r.Stats().Events, r.Stats().Lost }()
	for {
		e, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if e.ID == idGCStart {
			c.seen.collections++
		}
	}
}

const idGCStart = 1 // runtime, src/coreclr/vm/ClrEtwAll.man

func (c *crowd) close() {
	for _, s := range c.sessions {
		_ = s.Close()
	}
	c.readers.Wait()
}

// disperse ends the sessions: the first in good order, for what it was sent is
// counted, the others at once, which the runtime notices at the next event. It
// returns when the runtime has ended them, with the service under load.
func (c *crowd) disperse(ctx context.Context, s *service) (seen, error) {
	if len(c.sessions) == 0 {
		return seen{}, nil
	}
	limit, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	c.seen.span = time.Since(c.begun)
	err := c.sessions[0].Stop(limit)
	for _, other := range c.sessions[1:] {
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
		if n, _, err := s.streaming(); err != nil || n == 0 {
			return c.seen, err
		}
		if _, err := s.load(ctx, 5*time.Millisecond); err != nil {
			return seen{}, err
		}
	}
	return seen{}, errors.New("the runtime has not ended its sessions")
}

// streamingThread is the name of the runtime's thread that writes one session
// (runtime, src/native/eventpipe/ep-session.c).
const streamingThread = ".NET EventPipe"

// streaming returns how many threads of the service write sessions that are not
// its own, and the CPU time that they have used: the first field of their
// schedstat.
func (s *service) streaming() (n int, cpu time.Duration, err error) {
	threads, err := streamingThreads(s.PID())
	if err != nil {
		return 0, 0, err
	}
	for _, dir := range threads {
		if slices.Contains(s.own, dir) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "schedstat"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		var ran int64
		if err == nil {
			_, err = fmt.Sscan(string(text), &ran)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("read CPU time of %s: %w", dir, err)
		}
		n, cpu = n+1, cpu+time.Duration(ran)
	}
	return n, cpu, nil
}

// streamingThreads returns the directories of the threads of a process that
// write sessions.
func streamingThreads(pid int) ([]string, error) {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	return slices.DeleteFunc(all, func(dir string) bool {
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		return err != nil || strings.TrimSpace(string(name)) != streamingThread // or it has ended
	}), err
}
