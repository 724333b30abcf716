package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Runtimes returns the processes that have a diagnostics socket with a listener, by their
// number, as far as this process may see them. It looks in
// every network namespace once, and at a process only where there is a socket.
//
// With an error, which is one line, there may be more than those that it returns: it
// is ErrPart where there are too many processes, or sockets in one namespace.
func (p Proc) Runtimes(ctx context.Context) ([]Identity, error) {
	pids, trouble := p.Processes()
	if trouble != nil && !errors.Is(trouble, ErrPart) {
		return nil, fmt.Errorf("look for .NET processes: %w", trouble)
	}
	s := search{proc: p, pids: pids}
	seen := make(map[string]bool)
	for _, pid := range pids {
		net, err := os.Readlink(p.path(pid, "ns/net"))
		if err != nil || seen[net] {
			continue
		}
		switch err := p.unixTable(ctx, pid, s.add); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, ErrPart):
			trouble = fmt.Errorf("%w: a network namespace has more sockets than the %d MiB that are read of its list (%s): name a .NET process that is not found by --target PID", ErrPart, maxUnixTable>>20, p.path(pid, "net/unix"))
		case err != nil:
			continue // it ended: another may show the same namespace
		}
		seen[net] = true
	}
	slices.SortFunc(s.found, func(a, b Identity) int { return a.PID - b.PID })
	return slices.Compact(s.found), trouble
}

// search finds the processes that sockets are named after. Of a socket that is named
// after none it keeps nothing: any process may bind any number of them.
type search struct {
	proc  Proc
	pids  []int
	found []Identity
	// created has the processes by their creation time, once a socket was seen.
	// named has those of the creation times that sockets were seen of, by the name
	// that their socket would have, until it is seen.
	created map[uint64][]Identity
	named   map[bound][]Identity
}

func (s *search) add(b bound) {
	if s.created == nil {
		s.created, s.named = make(map[uint64][]Identity), make(map[bound][]Identity)
		for _, pid := range s.pids {
			if id, err := s.proc.Identify(pid); err == nil {
				s.created[id.Created] = append(s.created[id.Created], id)
			}
		}
	}
	for _, id := range s.created[b.created] {
		if inner, err := s.proc.InnerPID(id.PID); err == nil {
			key := bound{innerPID: inner, created: id.Created}
			s.named[key] = append(s.named[key], id)
		}
	}
	delete(s.created, b.created)
	b.dir = ""
	s.found = append(s.found, s.named[b]...)
	delete(s.named, b)
}
