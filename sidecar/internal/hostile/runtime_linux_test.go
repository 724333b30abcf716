package hostile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf16"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// liar is a process that poses as a .NET runtime. It runs until the test does.
type liar struct {
	dir      string // its own
	pid      int
	name     string // of its socket
	listener *net.UnixListener
	held     []net.Conn
	children []*exec.Cmd

	stopped chan struct{} // closed when the session is told to end
	stop    func()
}

// tellLie is the program of a liar. It says ready when its socket is there.
func tellLie() error {
	// A peer that goes is an error of write alone.
	signal.Ignore(syscall.SIGPIPE)
	id, err := dotnetipc.Proc{}.Identify(os.Getpid())
	if err != nil {
		return err
	}
	l := &liar{dir: os.Getenv(dirVariable), pid: os.Getpid(), stopped: make(chan struct{})}
	l.stop = sync.OnceFunc(func() { close(l.stopped) })
	l.name = fmt.Sprintf("dotnet-diagnostic-%d-%d-socket", id.PID, id.Created)
	for i := range lies {
		if lies[i].name != os.Getenv(lieVariable) {
			continue
		}
		if err := lies[i].tell(l); err != nil {
			return err
		}
		fmt.Println("ready")
		waitForEnd()
		return nil
	}
	return errors.New("no such lie: " + os.Getenv(lieVariable))
}

func waitForEnd() { _, _ = io.Copy(io.Discard, os.Stdin) }

// listen binds the socket in a directory, and answers as b has it.
func (l *liar) listen(dir string, b behaviour) (err error) {
	path := filepath.Join(dir, l.name)
	if l.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		return err
	}
	l.listener.SetUnlinkOnClose(false)
	go func() {
		for {
			conn, err := l.listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				l.answer(conn, b)
			}()
		}
	}()
	return nil
}

// hide removes the file of the socket: the kernel goes on to list its path.
func (l *liar) hide(dir string) error { return os.Remove(filepath.Join(dir, l.name)) }

// behaviour is what a runtime does; the zero one is a quiet, honest runtime.
type behaviour struct {
	// accepted is asked first, and takes the connection over where it says so.
	accepted func(net.Conn) bool
	// pid is the number that it gives itself; its own if zero.
	pid int
	// info follows the answer to ProcessInfo; an honest answer if nil.
	info func(net.Conn)
	// stream writes events behind the answer to CollectTracing; nil writes none.
	stream func(net.Conn)
	// stop answers to StopTracing; nil answers and ends the stream.
	stop func(net.Conn)
}

// The commands of the protocol that liars know (dotnet/diagnostics, ipc-protocol.md).
const (
	ipcMagic        = "DOTNET_IPC_V1\x00"
	ipcHeader       = len(ipcMagic) + 6
	stopTracing     = 0x0201
	collectTracing5 = 0x0206
	processInfo3    = 0x0408
	replyOK         = 0xFF00
	replyError      = 0xFFFF
	unknownCommand  = 0x80131385
)

func (l *liar) answer(conn net.Conn, b behaviour) {
	if b.accepted != nil && b.accepted(conn) {
		return
	}
	header := make([]byte, ipcHeader)
	if _, err := io.ReadFull(conn, header); err != nil {
		return
	}
	rest := header[len(ipcMagic):]
	payload := make([]byte, max(0, int(binary.LittleEndian.Uint16(rest))-ipcHeader))
	if _, err := io.ReadFull(conn, payload); err != nil {
		return
	}
	switch uint16(rest[2])<<8 | uint16(rest[3]) {
	case processInfo3:
		if b.info != nil {
			b.info(conn)
			return
		}
		pid := b.pid
		if pid == 0 {
			pid = l.pid
		}
		_, _ = conn.Write(message(replyOK, info(pid, "liar")))
	case collectTracing5:
		if _, err := conn.Write(message(replyOK, le64(1))); err != nil {
			return
		}
		if b.stream != nil {
			b.stream(conn)
			return
		}
		w := nettracetest.New(clock(0))
		_, _ = conn.Write(w.Take())
		<-l.stopped
		w.End()
		_, _ = conn.Write(w.Take())
	case stopTracing:
		if b.stop != nil {
			b.stop(conn)
			return
		}
		_, _ = conn.Write(message(replyOK, le64(1)))
		l.stop()
	default:
		code := uint32(unknownCommand)
		_, _ = conn.Write(message(replyError, binary.LittleEndian.AppendUint32(nil, code)))
	}
}

// waitForPeer waits until the other end is closed.
func waitForPeer(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func message(command uint16, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte(ipcMagic), uint16(ipcHeader+len(payload)))
	return append(append(b, byte(command>>8), byte(command), 0, 0), payload...)
}

// info is the payload of an answer to ProcessInfo3.
func info(pid int, command string) []byte {
	b := le64(uint64(pid))
	b = append([]byte{1, 0, 0, 0}, b...)
	b = append(b, make([]byte, 16)...) // the cookie
	for _, s := range []string{command, "Linux", "x64", "liar", "10.0.0", "linux-x64"} {
		units := append(utf16.Encode([]rune(s)), 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(units)))
		for _, u := range units {
			b = binary.LittleEndian.AppendUint16(b, u)
		}
	}
	return b
}

func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// now reads CLOCK_MONOTONIC, as a runtime does.
func now() uint64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return uint64(ts.Nano())
}

// clock is the head of a stream whose clock is ahead.
func clock(ahead time.Duration) nettracetest.Options {
	return nettracetest.Options{SyncTicks: int64(now()) + int64(ahead), SyncTime: time.Now(), PID: os.Getpid(), Processors: 2}
}

// script writes the events of a collector.
type script struct {
	*nettracetest.Writer
	events []nettracetest.Event
}

func (s *script) event(at, thread uint64, id, version int, payload []byte) {
	s.events = append(s.events, nettracetest.Event{
		Provider: dotnetgc.Provider, ID: id, Version: version, Ticks: at, Thread: thread, Payload: payload, Sorted: len(s.events) == 0,
	})
}

func (s *script) suspend(at uint64, reason uint32) {
	s.event(at, 1, 9, 1, append(words(reason, 77), 0, 0))
}
func (s *script) suspended(at uint64) { s.event(at, 1, 8, 1, []byte{0, 0}) }
func (s *script) restart(at uint64)   { s.event(at, 1, 7, 1, []byte{0, 0}) }
func (s *script) restarted(at uint64) { s.event(at, 1, 3, 1, []byte{0, 0}) }
func (s *script) start(at uint64, number, generation, kind uint32) {
	s.event(at, 1, 1, 2, append(words(number, generation, 0, kind), make([]byte, 10)...))
}
func (s *script) end(at uint64, number, generation uint32) {
	s.event(at, 1, 2, 1, append(words(number, generation), 0, 0))
}

// Kinds of collections, and a reason to suspend.
const (
	blocking   = 0
	background = 1
	forGC      = 1
)

// collect is a whole blocking collection that takes a microsecond.
func (s *script) collect(at uint64, number uint32) {
	s.suspend(at, forGC)
	s.suspended(at + 100)
	s.start(at+200, number, 0, blocking)
	s.end(at+800, number, 0)
	s.restart(at + 900)
	s.restarted(at + 1000)
}

// take returns what was written since the last time, as one block.
func (s *script) take() []byte {
	if len(s.events) > 0 {
		s.Events(s.events...)
		s.events = s.events[:0]
	}
	return s.Take()
}

// endless writes begin once, then more without end.
func endless(begin, more func(*script)) func(net.Conn) {
	return func(conn net.Conn) {
		s := &script{Writer: nettracetest.New(clock(0))}
		for step := begin; ; step = more {
			step(s)
			if _, err := conn.Write(s.take()); err != nil {
				return
			}
		}
	}
}

// perBlock is how many steps of an endless stream go out at once.
const perBlock = 1000

// env is the environment of a liar.
func env(dir string, more ...string) []string {
	return append([]string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir}, more...)
}

func slow(conn net.Conn, b []byte) {
	for i := range b {
		if _, err := conn.Write(b[i : i+1]); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
	waitForPeer(conn)
}

func longName(i int) string { return fmt.Sprintf("%0100d", i) + strings.Repeat("n", 10) }
