package dotnetipc

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// fake is a runtime on a real socket, given as a function that answers one
// command. It runs in this process, so its PID is ours.
type fake struct {
	t        *testing.T
	endpoint Endpoint
	listener *net.UnixListener
	work     sync.WaitGroup

	mu   sync.Mutex
	asks []command
}

type answerFunc func(conn net.Conn, c command, payload []byte)

func newFake(t *testing.T, answer answerFunc) *fake {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, endpoint: Endpoint{Identity: Identity{PID: os.Getpid(), Created: 7}, Root: root, Dir: "/tmp", Name: socketName(1, 7)}}
	f.serve(answer)
	return f
}

func (f *fake) serve(answer answerFunc) {
	f.t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: f.endpoint.Path(), Net: "unix"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.listener = listener
	f.t.Cleanup(func() {
		_ = listener.Close()
		f.work.Wait()
	})
	f.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.work.Go(func() {
				defer func() { _ = conn.Close() }()
				f.one(conn, answer)
			})
		}
	})
}

// one serves a connection. The command must come whole in one read: a client
// that sends it in parts holds the real server up in between.
func (f *fake) one(conn net.Conn, answer answerFunc) {
	b := make([]byte, maxMessage)
	n, err := conn.Read(b)
	if err != nil {
		return
	}
	r := newBytesReader(b[:n])
	c, payload, err := decode(r)
	if err != nil || r.Len() != 0 {
		f.t.Errorf("the fake runtime got no whole command in one read: %d bytes, %d left, %v", n, r.Len(), err)
		return
	}
	f.mu.Lock()
	f.asks = append(f.asks, c)
	f.mu.Unlock()
	answer(conn, c, payload)
}

func (f *fake) asked() []command {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]command(nil), f.asks...)
}

// client returns a client that waits for an answer on a machine of any speed.
func (f *fake) client() *Client {
	c := NewClient(f.endpoint)
	c.Timeout = 3 * time.Minute
	return c
}

// soon is when a client gives up that is to have no answer.
const soon = 250 * time.Millisecond

func ok(conn net.Conn, payload []byte) {
	m, _ := encode(replyOK, payload)
	_, _ = conn.Write(m)
}

func refuse(conn net.Conn, code HResult) {
	m, _ := encode(replyError, binary.LittleEndian.AppendUint32(nil, uint32(code)))
	_, _ = conn.Write(m)
}

// streamer is a runtime with one session: it streams until it is told to stop,
// and like the real one it serves nobody while the end of the stream blocks.
type streamer struct {
	session uint64
	stop    chan struct{}
	ended   chan struct{}
	once    sync.Once
}

func newStreamer() *streamer {
	return &streamer{session: 0xabcdef, stop: make(chan struct{}), ended: make(chan struct{})}
}

const (
	streamed = "Nettrace and so on;"
	tail     = "the end"
)

func (s *streamer) answer(conn net.Conn, c command, payload []byte) {
	switch c {
	case collectTracing5:
		ok(conn, binary.LittleEndian.AppendUint64(nil, s.session))
		defer close(s.ended)
		_, _ = io.WriteString(conn, streamed)
		<-s.stop
		_, _ = io.WriteString(conn, tail)
	case stopTracing:
		if got := binary.LittleEndian.Uint64(payload); got != s.session {
			refuse(conn, Fail)
			return
		}
		s.once.Do(func() { close(s.stop) })
		<-s.ended
		ok(conn, payload)
	default:
		refuse(conn, UnknownCommand)
	}
}

func background(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// await waits until what holds.
func await(t testing.TB, why string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain for: " + why)
		}
	}
}

func oneLine(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, r := range err.Error() {
		if r == '\n' {
			t.Errorf("error has more than one line: %q", err)
		}
	}
	return fmt.Sprint(err)
}
