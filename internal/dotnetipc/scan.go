package dotnetipc

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// Runtimes returns the processes that have a diagnostics socket somebody
// listens on, by their number, as far as this process may see them. It looks in
// every network namespace once, and at a process only where there is a socket. With
// an error, which is one line, there may be more than those that it returns.
func (p Proc) Runtimes() ([]Identity, error) {
	pids, err := p.Processes()
	if err != nil {
		return nil, fmt.Errorf("look for .NET processes: %w", err)
	}
	sockets := make(map[bound]bool)
	seen := make(map[string]bool)
	var trouble error
	for _, pid := range pids {
		net, err := os.Readlink(p.path(pid, "ns/net"))
		if err != nil || seen[net] {
			continue
		}
		err = p.unixTable(pid, func(b bound) {
			if b.dir = ""; len(sockets) < maxSockets || sockets[b] {
				sockets[b] = true
			}
		})
		if large := errors.Is(err, errTooLarge); large || len(sockets) == maxSockets {
			trouble = fmt.Errorf("%s lists more sockets than are looked at (%d MiB, %d of .NET): name a process that is not found by --target PID", p.path(pid, "net/unix"), maxUnixTable>>20, maxSockets)
		} else if err != nil {
			continue // it ended: another may show the same namespace
		}
		seen[net] = true
	}
	if len(sockets) == 0 {
		return nil, trouble
	}
	return p.owners(pids, sockets), trouble
}

// owners returns which of pids the sockets are named after.
func (p Proc) owners(pids []int, sockets map[bound]bool) []Identity {
	keys := make(map[uint64]bool)
	for b := range sockets {
		keys[b.created] = true
	}
	var found []Identity
	for _, pid := range pids {
		id, err := p.Identify(pid)
		if err != nil || !keys[id.Created] {
			continue
		}
		inner, err := p.InnerPID(pid)
		if err == nil && sockets[bound{innerPID: inner, created: id.Created}] {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b Identity) int { return a.PID - b.PID })
	return found
}
