package load

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// pacer waits on a thread of its own: the runtime's timers wake up to 1 ms late
// (its network poller counts in milliseconds), which would be counted as the
// service's latency.
type pacer struct{ clock stall.Clock }

func newPacer(clock stall.Clock) (p pacer, stop func()) {
	runtime.LockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	}
	return pacer{clock}, func() {
		if err == nil {
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		}
		runtime.UnlockOSThread()
	}
}

// longestNap bounds how long the end of ctx may go unnoticed.
const longestNap = 100 * time.Millisecond

func (p pacer) until(ctx context.Context, t stall.Instant) {
	for ctx.Err() == nil {
		d := t.Sub(p.clock.Now())
		if d <= 0 {
			return
		}
		nap := unix.NsecToTimespec(int64(min(d, longestNap)))
		_ = unix.Nanosleep(&nap, nil) // an interrupted nap is a shorter one
	}
}

// shortTurn is how long a thread of the generator runs at a time, where others want
// its CPU: the shortest that Linux grants.
const shortTurn = 100 * time.Microsecond

// prompt has the threads of this process ask for short turns, and so for a CPU as
// soon as they want one, at no larger share of it (sched_setattr(2), Linux 6.12):
// what the generator is late would be in the latency that it measures. Threads to
// come inherit it. One that was pinned is no part of the generator. The function
// that it returns takes it back.
func prompt() (back func()) {
	setTurns(shortTurn)
	return func() { setTurns(0) }
}

// setTurns sets how long the threads run at a time, 0 for what is usual.
func setTurns(d time.Duration) {
	var usual, own unix.CPUSet
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || unix.SchedGetaffinity(0, &usual) != nil {
		return
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil || unix.SchedGetaffinity(tid, &own) != nil || own != usual {
			continue
		}
		attr, err := unix.SchedGetAttr(tid, 0)
		if err != nil || attr.Policy != unix.SCHED_NORMAL {
			continue
		}
		attr.Runtime = uint64(d)
		_ = unix.SchedSetAttr(tid, attr, 0) // an older kernel takes no notice
	}
}

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
