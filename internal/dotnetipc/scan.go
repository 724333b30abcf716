package dotnetipc

import (
	"fmt"
	"os"
	"slices"
)

// Runtimes returns the processes that have a diagnostics socket somebody
// listens on, by their number, as far as this process may see them. It looks in
// every network namespace once, and at a process only where there is a socket.
func (p Proc) Runtimes() ([]Identity, error) {
	pids, err := p.Processes()
	if err != nil {
		return nil, fmt.Errorf("look for .NET processes: %w", err)
	}
	sockets := make(map[bound]bool)
	seen := make(map[string]bool)
	for _, pid := range pids {
		net, err := os.Readlink(p.path(pid, "ns/net"))
		if err != nil || seen[net] {
			continue
		}
		text, err := p.read(pid, "net/unix", maxUnixTable)
		if err != nil {
			continue // it ended: another may show the same namespace
		}
		seen[net] = true
		for _, b := range parseUnixTable(text) {
			b.dir = ""
			sockets[b] = true
		}
	}
	if len(sockets) == 0 {
		return nil, nil
	}
	return p.owners(pids, sockets), nil
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
