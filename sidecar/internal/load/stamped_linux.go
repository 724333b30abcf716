package load

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stamped reads a connection, and knows when the kernel had what was read: between
// that and the reading lies what the reader waited for a CPU.
type stamped struct {
	io.Reader // the connection, where the kernel does not stamp
	raw       syscall.RawConn
	came      time.Time // by the wall clock; zero if that is not known
	control   [64]byte
}

func newStamped(conn net.Conn) *stamped {
	s := &stamped{Reader: conn}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return s
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return s
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	if err == nil && refused == nil {
		s.raw = raw
	}
	return s
}

// Read implements io.Reader.
func (s *stamped) Read(to []byte) (n int, err error) {
	if s.raw == nil || len(to) == 0 {
		return s.Reader.Read(to)
	}
	var said int
	failed := s.raw.Read(func(fd uintptr) bool {
		for {
			n, said, _, _, err = unix.Recvmsg(int(fd), to, s.control[:], 0)
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	switch {
	case failed != nil:
		return 0, failed
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	s.came = stampIn(s.control[:said])
	return n, nil
}

// stampIn returns the time in the control messages of what was read: of its last
// segment.
func stampIn(control []byte) time.Time {
	for len(control) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		// A timespec: seconds and nanoseconds.
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS && len(data) >= 16 {
			return time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])))
		}
		control = rest
	}
	return time.Time{}
}
