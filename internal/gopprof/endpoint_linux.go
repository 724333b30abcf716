package gopprof

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	maxSockets   = 8        // of one process that are tried
	maxOpen      = 1 << 16  // descriptors of a process that are looked at
	maxTableSize = 32 << 20 // bytes of /proc/PID/net/tcp
)

// listening returns the addresses of loopback on which a process listens, by port. The
// error says why that cannot be known.
func listening(pid int) ([]string, error) {
	sockets, err := sockets(pid)
	if err != nil {
		return nil, err
	}
	var all []netip.AddrPort
	for a := range sockets {
		if a.Addr().IsLoopback() {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b netip.AddrPort) int {
		if a.Port() != b.Port() {
			return int(a.Port()) - int(b.Port())
		}
		return a.Addr().Compare(b.Addr())
	})
	var list []string
	for _, a := range all[:min(len(all), maxSockets)] {
		list = append(list, a.String())
	}
	return list, nil
}

// owns reports whether a process, and no other, listens on a port of this machine. The
// error says why that cannot be known.
func owns(pid int, port string) (bool, error) {
	sockets, err := sockets(pid)
	if err != nil {
		return false, err
	}
	for a := range sockets {
		if strconv.Itoa(int(a.Port())) == port && (a.Addr().IsLoopback() || a.Addr().IsUnspecified()) {
			return true, nil
		}
	}
	return false, nil
}

// sockets returns the addresses on which a process listens that shares our network
// namespace. One that others share, too (SO_REUSEPORT), is not among them: who answers
// there is not known.
func sockets(pid int) (map[netip.AddrPort]bool, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("look for sockets: %w", err)
	}
	its, err := os.Readlink(dir + "/ns/net")
	switch {
	case err != nil:
		return nil, fmt.Errorf("look for sockets of process %d: %w (needs CAP_SYS_PTRACE, or to be its user)", pid, err)
	case own != its:
		return nil, fmt.Errorf("process %d %w: give --pprof URL", pid, errOtherNetwork)
	}
	inodes, err := inodes(dir + "/fd")
	if err != nil {
		return nil, fmt.Errorf("look for sockets of process %d: %w", pid, err)
	}
	found := make(map[netip.AddrPort]bool)
	for _, table := range []string{"/net/tcp", "/net/tcp6"} {
		f, err := os.Open(dir + table)
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("look for sockets of process %d: %w", pid, err)
		}
		for address, all := range listeners(f) {
			if !slices.ContainsFunc(all, func(inode string) bool { return !inodes[inode] }) {
				found[address] = true
			}
		}
		_ = f.Close() // it was only read
	}
	return found, nil
}

// inodes returns those of the sockets that a process has open.
func inodes(dir string) (map[string]bool, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxOpen)
	if err != nil && err != io.EOF {
		return nil, err
	}
	all := make(map[string]bool)
	for _, name := range names {
		link, err := os.Readlink(dir + "/" + name)
		if err != nil {
			continue // it was closed meanwhile
		}
		if rest, ok := strings.CutPrefix(link, "socket:["); ok {
			all[strings.TrimSuffix(rest, "]")] = true
		}
	}
	return all, nil
}

// listeners returns the listening sockets of a table of the kernel (proc_pid_net(5)), and
// their inodes.
func listeners(table io.Reader) map[netip.AddrPort][]string {
	const address, state, inode, listen = 1, 3, 9, "0A"
	found := make(map[netip.AddrPort][]string)
	lines := bufio.NewScanner(io.LimitReader(table, maxTableSize))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) <= inode || f[state] != listen {
			continue
		}
		if a, ok := socketAddress(f[address]); ok {
			found[a] = append(found[a], f[inode])
		}
	}
	return found
}

// socketAddress parses an address as the kernel writes it: words of 32 bits in the order
// of the machine, which is little-endian wherever we run.
func socketAddress(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(host)
	n, errPort := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || errPort != nil || len(bytes)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(bytes, 4) {
		slices.Reverse(word)
	}
	a, ok := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), ok
}
