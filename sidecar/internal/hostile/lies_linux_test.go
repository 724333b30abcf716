package hostile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// lie is one way to lie. SECURITY.md names them.
type lie struct {
	name string
	env  func(dir string, honest int) []string // nil: its own directory as TMPDIR
	// prepare makes as root what the liar may not make.
	prepare func(dir string) error
	// tell is run in the process of the liar.
	tell func(*liar) error
	// silent says that the sidecar may watch it without a word, and dials that it is
	// no runtime with a socket.
	silent, dials bool
	// again says that it takes more than its share: it is to be detached, and tried
	// again.
	again bool
	count int  // how many processes; one if zero
	uid   int  // of its processes, one of its own if zero
	root  bool // it is of the sidecar's own user
	inNet bool // in a network namespace of its own
	// container is the id of the container that its cgroup names.
	container string
}

// hour is how far lies about time are off.
const hour = time.Hour

// crowdOf is how many processes a sidecar watches at once (maxTargets of package
// target).
const crowdOf = 64

// claims are those of the liar that poses as another process.
const (
	honestInstance   = "the-honest-one"
	claimedContainer = "1111111111111111111111111111111111111111111111111111111111111111"
	realContainer    = "2222222222222222222222222222222222222222222222222222222222222222"
	claimedPod       = "11111111-1111-1111-1111-111111111111"
	claimedBoot      = "33333333-3333-3333-3333-333333333333"
)

// run is one run of the sidecar.
type run struct {
	name  string
	first bool // the liars are there, and watched, before the honest process is
	port  bool // there is a reverse port
	// recorded says that the sidecar records, for which it reads the configuration of
	// a runtime, too. The manifest does not ask for that.
	recorded bool
	lies     []string
}

var runs = []run{
	{name: "what a process says of itself", recorded: true, lies: []string{
		"directory_is_a_pattern", "directory_is_a_broken_pattern", "directory_is_full", "directory_is_a_loop",
		"socket_is_a_pipe", "socket_is_a_link_to_a_device",
		"configuration_is_a_pipe", "configuration_is_a_device", "configuration_is_huge",
		"never_answers", "answer_of_huge_size", "answer_of_huge_string", "answer_byte_by_byte", "stream_byte_by_byte",
		"closes_in_the_midst", "never_ends_after_stop", "never_answers_to_stop",
		"claims_to_be_another", "ten_thousand_attributes",
		"clock_ahead", "clock_behind", "events_from_the_future", "events_from_the_past",
	}},
	{name: "streams without end", lies: []string{
		"collection_without_end", "stop_without_end", "full_speed", "fills_every_limit",
	}},
	{name: "streams without end, recorded", recorded: true, lies: []string{"collection_without_end", "full_speed"}},
	{name: "a crowd", first: true, lies: []string{"crowd"}},
	{name: "a full table of sockets", lies: []string{"table_of_sockets"}},
	{name: "the reverse port", port: true, lies: []string{"made_up_callers", "callers_of_another_user"}},
}

var lies = []lie{
	{name: "directory_is_a_pattern", tell: func(l *liar) error {
		// 40 names for every directory, at any depth.
		star := filepath.Join(l.dir, "*")
		if err := os.Mkdir(star, 0o755); err != nil {
			return err
		}
		for i := range 40 {
			if err := os.Symlink(".", filepath.Join(l.dir, fmt.Sprint("l", i))); err != nil {
				return err
			}
		}
		deep := star
		for range 4 {
			deep = filepath.Join(deep, "*")
			if err := os.Mkdir(deep, 0o755); err != nil {
				return err
			}
		}
		return listenAndHide(l, deep)
	}, env: func(dir string, _ int) []string { return env(dir + "/*/*/*/*/*") }},
	{name: "directory_is_a_broken_pattern", tell: func(l *liar) error {
		dir := filepath.Join(l.dir, "[")
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		return listenAndHide(l, dir)
	}, env: func(dir string, _ int) []string { return env(dir + "/[") }},
	{name: "directory_is_full", tell: func(l *liar) error {
		for i := range 100_000 {
			if err := os.Symlink("x", filepath.Join(l.dir, fmt.Sprintf("dotnet-diagnostic-%d-%d-socket", l.pid, 1_000_000_000+i))); err != nil {
				return err
			}
		}
		return listenAndHide(l, l.dir)
	}},
	{name: "directory_is_a_loop", tell: func(l *liar) error {
		dir := filepath.Join(l.dir, "d")
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := listenAndHide(l, dir); err != nil {
			return err
		}
		if err := os.Remove(dir); err != nil {
			return err
		}
		return os.Symlink("d", dir)
	}, env: func(dir string, _ int) []string { return env(dir + "/d") }},
	{name: "socket_is_a_pipe", tell: func(l *liar) error {
		if err := listenAndHide(l, l.dir); err != nil {
			return err
		}
		return unix.Mkfifo(filepath.Join(l.dir, l.name), 0o666)
	}},
	{name: "socket_is_a_link_to_a_device", tell: func(l *liar) error {
		if err := listenAndHide(l, l.dir); err != nil {
			return err
		}
		return os.Symlink("/dev/zero", filepath.Join(l.dir, l.name))
	}},

	{name: "configuration_is_a_pipe", silent: true, tell: func(l *liar) error {
		return firstErr(unix.Mkfifo(configuration(l.dir), 0o666), l.listen(l.dir, behaviour{}))
	}},
	{name: "configuration_is_a_device", silent: true, prepare: func(dir string) error {
		return unix.Mknod(configuration(dir), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) // /dev/zero
	}, tell: func(l *liar) error { return l.listen(l.dir, behaviour{}) }},
	{name: "configuration_is_huge", silent: true, tell: func(l *liar) error {
		f, err := os.Create(configuration(l.dir))
		if err != nil {
			return err
		}
		return firstErr(f.Truncate(1<<30), f.Close(), l.listen(l.dir, behaviour{}))
	}},

	{name: "never_answers", tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{accepted: func(conn net.Conn) bool { waitForPeer(conn); return true }})
	}},
	{name: "answer_of_huge_size", tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{info: func(conn net.Conn) {
			b := message(replyOK, make([]byte, 1000))
			binary.LittleEndian.PutUint16(b[len(ipcMagic):], 0xFFFF)
			_, _ = conn.Write(b)
			waitForPeer(conn)
		}})
	}},
	{name: "answer_of_huge_string", tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{info: func(conn net.Conn) {
			b := append(words(1), make([]byte, 24)...)
			_, _ = conn.Write(message(replyOK, append(b, words(0xFFFFFFFF)...)))
		}})
	}},
	{name: "answer_byte_by_byte", tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{info: func(conn net.Conn) { slow(conn, message(replyOK, info(l.pid, "liar"))) }})
	}},
	{name: "stream_byte_by_byte", tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{stream: func(conn net.Conn) { slow(conn, nettracetest.New(clock(0)).Take()) }})
	}},
	{name: "closes_in_the_midst", tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{stream: func(conn net.Conn) {
			s := &script{Writer: nettracetest.New(clock(0))}
			s.collect(now(), 1)
			b := s.take()
			_, _ = conn.Write(b[:len(b)-20])
		}})
	}},
	{name: "never_ends_after_stop", silent: true, tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{stop: func(conn net.Conn) {
			_, _ = conn.Write(message(replyOK, le64(1)))
			waitForPeer(conn)
		}})
	}},
	{name: "never_answers_to_stop", silent: true, tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{stop: waitForPeer})
	}},

	{name: "claims_to_be_another", silent: true, container: realContainer, tell: func(l *liar) error {
		honest, err := strconv.Atoi(os.Getenv("HONEST"))
		if err != nil {
			return err
		}
		return l.listen(l.dir, behaviour{pid: honest, stream: func(conn net.Conn) {
			s := &script{Writer: nettracetest.New(clock(0))}
			for i := uint32(1); ; i++ {
				s.collect(now(), i)
				if _, err := conn.Write(s.take()); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}})
	}, env: func(dir string, honest int) []string {
		return env(dir, fmt.Sprint("HONEST=", honest), "OTEL_SERVICE_NAME=impostor", "OTEL_RESOURCE_ATTRIBUTES="+strings.Join([]string{
			"service.instance.id=" + honestInstance, "container.id=" + claimedContainer, "k8s.pod.uid=" + claimedPod,
			fmt.Sprint("process.pid=", honest), "otelgc.boot.id=" + claimedBoot, "process.creation.time=2001-01-01T00:00:00Z",
		}, ","))
	}},
	{name: "ten_thousand_attributes", silent: true, tell: func(l *liar) error { return l.listen(l.dir, behaviour{}) },
		env: func(dir string, _ int) []string {
			all := make([]string, 10_000)
			for i := range all {
				all[i] = fmt.Sprintf("a%d=b", i)
			}
			return env(dir, "OTEL_SERVICE_NAME=many", "OTEL_RESOURCE_ATTRIBUTES="+strings.Join(all, ","))
		}},

	{name: "clock_ahead", tell: func(l *liar) error { return l.listen(l.dir, behaviour{stream: head(hour)}) }},
	{name: "clock_behind", tell: func(l *liar) error { return l.listen(l.dir, behaviour{stream: head(-hour)}) }},
	{name: "events_from_the_future", silent: true, tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{stream: shifted(hour)})
	}, env: func(dir string, _ int) []string { return env(dir, "OTEL_SERVICE_NAME=future") }},
	{name: "events_from_the_past", silent: true, tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{stream: shifted(-hour)})
	}, env: func(dir string, _ int) []string { return env(dir, "OTEL_SERVICE_NAME=past") }},

	{name: "collection_without_end", again: true, tell: func(l *liar) error {
		return l.listen(l.dir, behaviour{stream: endless(func(s *script) {
			s.suspend(now(), forGC)
			s.suspended(now())
			s.start(now(), 1, 2, background)
			s.restart(now())
			s.restarted(now())
		}, func(s *script) {
			for range perBlock {
				at := now()
				s.suspend(at, forGC)
				s.suspended(at)
				s.restart(at)
				s.restarted(at)
			}
		})})
	}},
	{name: "stop_without_end", again: true, tell: func(l *liar) error {
		number := uint32(0)
		return l.listen(l.dir, behaviour{stream: endless(func(s *script) {
			s.suspend(now(), forGC)
			s.suspended(now())
		}, func(s *script) {
			for range perBlock {
				number++
				s.start(now(), number, 0, blocking)
			}
		})})
	}},
	{name: "full_speed", again: true, tell: func(l *liar) error {
		number := uint32(0)
		return l.listen(l.dir, behaviour{stream: endless(func(*script) {}, func(s *script) {
			for range perBlock {
				number++
				s.collect(now(), number)
			}
		})})
	}},
	{name: "fills_every_limit", count: 4, tell: func(l *liar) error { return l.listen(l.dir, behaviour{stream: fill}) }},

	{name: "crowd", count: crowdOf, uid: 60100, silent: true, tell: func(l *liar) error { return l.listen(l.dir, behaviour{}) }},

	{name: "table_of_sockets", inNet: true, silent: true, tell: fillTable},

	{name: "made_up_callers", root: true, dials: true, tell: dialOften},
	{name: "callers_of_another_user", dials: true, tell: dialOften},
}

func listenAndHide(l *liar, dir string) error {
	return firstErr(l.listen(dir, behaviour{}), l.hide(dir))
}

// firstErr returns the first error; what comes after it was done in vain.
func firstErr(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// configuration is where the configuration of a runtime is that runs the program
// of a liar.
func configuration(dir string) string { return filepath.Join(dir, "liar.runtimeconfig.json") }

// head is a stream whose clock is off.
func head(ahead time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Write(nettracetest.New(clock(ahead)).Take())
		waitForPeer(conn)
	}
}

// shifted is a stream whose clock is right and whose events are not of its time.
func shifted(ahead time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		s := &script{Writer: nettracetest.New(clock(0))}
		for i := uint32(1); ; i++ {
			s.collect(now()+uint64(ahead), i)
			if _, err := conn.Write(s.take()); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// fill takes what a decoder may hold: the most types of events with the longest
// names, the most threads, the most events that wait for their order, and a
// block of the largest size that never ends.
func fill(conn net.Conn) {
	o := clock(0)
	o.Version = 6
	w := nettracetest.New(o)
	send := func() bool {
		_, err := conn.Write(w.Take())
		return err == nil
	}
	for i := range 60_000 {
		w.Events(nettracetest.Event{Provider: "Microsoft-Windows-DotNETRuntime", ID: 204, Version: 3, Name: longName(i), Ticks: now(), Thread: 1})
		if i%1000 == 0 && !send() {
			return
		}
	}
	for i := range 60 {
		list := make([]nettracetest.Thread, 1000)
		for j := range list {
			list[j] = nettracetest.Thread{Index: uint64(1000*i + j + 10), ID: uint64(1000*i + j + 10), PID: os.Getpid()}
		}
		w.Threads(list...)
		if !send() {
			return
		}
	}
	payload := make([]byte, 60_000)
	for range 520 { // 31 MB, each in a time before the last
		w.Events(nettracetest.Event{Provider: "Microsoft-Windows-DotNETRuntime", ID: 204, Version: 3, Name: longName(0), Ticks: now(), Thread: 1, Payload: payload})
		if !send() {
			return
		}
	}
	if _, err := conn.Write([]byte{0xff, 0xff, 0xff, 2}); err != nil { // an event block of 16 MiB
		return
	}
	for range 1<<24/len(payload) - 1 {
		if _, err := conn.Write(payload); err != nil {
			return
		}
	}
	for {
		if _, err := conn.Write([]byte{0}); err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// fillTable makes /proc/PID/net/unix of its network namespace longer than anybody
// should read, for each of several processes.
func fillTable(l *liar) error {
	const processes, each, needed = 8, 15_600, 16 << 20
	var ready []io.Reader
	for range processes {
		child := exec.Command("/proc/self/exe")
		child.Env = []string{roleVariable + "=" + roleHolder, fmt.Sprint(holdVariable, "=", each)}
		child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		child.Stderr = os.Stderr
		if _, err := child.StdinPipe(); err != nil {
			return err
		}
		out, err := child.StdoutPipe()
		if err != nil {
			return err
		}
		if err := child.Start(); err != nil {
			return err
		}
		l.children = append(l.children, child) // and their pipes
		ready = append(ready, out)
	}
	for _, out := range ready {
		if n, err := out.Read(make([]byte, 8)); n == 0 {
			return fmt.Errorf("a process that holds sockets is not ready: %w", err)
		}
	}
	text, err := os.ReadFile("/proc/self/net/unix")
	if err != nil {
		return err
	}
	if len(text) <= needed {
		return fmt.Errorf("the table has %d bytes, want more than %d", len(text), needed)
	}
	return l.listen(l.dir, behaviour{})
}

// holdSockets binds as many sockets as it is told to abstract names of the greatest
// length, and holds them.
func holdSockets() error {
	count, err := strconv.Atoi(os.Getenv(holdVariable))
	if err != nil {
		return err
	}
	for i := range count {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if errors.Is(err, unix.EMFILE) {
			return fmt.Errorf("%sa limit of %d open files (RLIMIT_NOFILE): %w", needs, count, err)
		}
		if err != nil {
			return err
		}
		// The kernel finds names by their checksum: only random ones have many.
		name := fmt.Sprintf("@%-80d%016x%08x", i, rand.Uint64(), os.Getpid())
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	waitForEnd()
	return nil
}

// dialOften dials the reverse port a thousand times, as ever another runtime, and
// holds what it gets. Every other one says nothing.
func dialOften(l *liar) error {
	const times = 1000
	for i := range times {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(filepath.Dir(l.dir), portName), Net: "unix"})
		if err != nil {
			fmt.Fprintln(os.Stderr, err) // it is not let in
			return nil
		}
		l.held = append(l.held, conn)
		if i%2 == 0 {
			b := append([]byte("ADVR_V1\x00"), binary.LittleEndian.AppendUint64(le64(rand.Uint64()), rand.Uint64())...)
			b = append(append(b, le64(uint64(i))...), 0, 0)
			_, _ = conn.Write(b)
		}
	}
	return nil
}
