package target

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// fakeRuntime is a runtime on a real socket that sends what a test wants.
type fakeRuntime struct {
	endpoint dotnetipc.Endpoint
	// stream writes a session, until it is told to stop or a write fails.
	stream   func(conn io.Writer, stop <-chan struct{})
	stubborn bool // it goes on after StopTracing
	sessions atomic.Int32
}

func newFakeRuntime(t *testing.T, f *fakeRuntime) *fakeRuntime {
	t.Helper()
	root := t.TempDir()
	f.endpoint = dotnetipc.Endpoint{Identity: dotnetipc.Identity{PID: os.Getpid(), Created: 7}, Root: root, Dir: "/", Name: "dotnet-diagnostic-1-7-socket"}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: f.endpoint.Path(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	stop := make(chan struct{})
	var once sync.Once
	t.Cleanup(func() {
		once.Do(func() { close(stop) })
		_ = listener.Close()
		work.Wait()
	})
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer func() { _ = conn.Close() }()
				f.answer(conn, stop, func() { once.Do(func() { close(stop) }) })
			})
		}
	})
	return f
}

func (f *fakeRuntime) answer(conn net.Conn, stop <-chan struct{}, end func()) {
	b := make([]byte, 1<<16)
	n, err := conn.Read(b)
	if err != nil || n < 20 {
		return
	}
	reply := func(payload []byte) {
		m := append([]byte("DOTNET_IPC_V1\x00"), 0, 0, 0xff, 0, 0, 0)
		m = append(m, payload...)
		binary.LittleEndian.PutUint16(m[14:], uint16(len(m)))
		_, _ = conn.Write(m)
	}
	switch command := int(b[16])<<8 | int(b[17]); command {
	case 0x0408: // ProcessInfo3: version, pid, cookie, five strings and the RID
		reply(append(binary.LittleEndian.AppendUint64([]byte{1, 0, 0, 0}, uint64(os.Getpid())), make([]byte, 16+6*4)...))
	case 0x0206: // CollectTracing5
		f.sessions.Add(1)
		reply(binary.LittleEndian.AppendUint64(nil, 1))
		f.stream(conn, stop)
	case 0x0201: // StopTracing
		if !f.stubborn {
			end()
		}
		reply(binary.LittleEndian.AppendUint64(nil, 1))
	}
}

// follow watches a fake runtime, as a process of a group.
func (r *rig) follow(f *fakeRuntime, pid int, group string) *process {
	r.t.Helper()
	p := newProcess(r.o, dotnetipc.Identity{})
	p.ID = dotnetipc.Identity{PID: os.Getpid(), Created: uint64(pid)}
	p.summary.PID = pid
	p.Group, p.summary.group = group, group
	p.Connect = func(context.Context) (*dotnetipc.Client, error) { return dotnetipc.NewClient(f.endpoint), nil }
	p.Gone = func(error) bool { return false }
	ctx, cancel := context.WithCancel(context.Background())
	stop := r.Watcher.cancel
	r.Watcher.cancel = func() { cancel(); stop() }
	if !r.begin(ctx, p, func() {}) {
		r.t.Fatalf("process %d is not watched", pid)
	}
	return p
}

func (r *rig) writer() *nettracetest.Writer {
	return nettracetest.New(nettracetest.Options{SyncTicks: int64(r.o.Clock.Now())})
}

// honestStream is that of a process with a stop every few milliseconds. It counts
// them.
func (r *rig) honestStream(stops *atomic.Uint64) func(io.Writer, <-chan struct{}) {
	return func(conn io.Writer, stop <-chan struct{}) {
		w := r.writer()
		written := 0
		flush := func() error {
			b := w.Bytes()
			_, err := conn.Write(b[written:])
			written = len(b)
			return err
		}
		for flush() == nil {
			select {
			case <-stop:
				w.End()
				_ = flush()
				return
			case <-time.After(5 * time.Millisecond):
			}
			now := uint64(r.o.Clock.Now())
			at := func(ticks uint64, id int, payload ...byte) nettracetest.Event {
				return nettracetest.Event{Provider: dotnetgc.Provider, ID: id, Version: 1, Ticks: now - 400 + ticks, Thread: 9, Payload: payload, Sorted: ticks == 400}
			}
			w.Events(at(100, 9, make([]byte, 10)...), at(200, 8, 0, 0), at(300, 7, 0, 0), at(400, 3, 0, 0))
			stops.Add(1)
		}
	}
}

// floodStream sends blocks of events that are not sorted, for ever.
func (r *rig) floodStream(payload int) func(io.Writer, <-chan struct{}) {
	return func(conn io.Writer, _ <-chan struct{}) {
		now := r.o.Clock.Now()
		w := nettracetest.New(nettracetest.Options{Version: 6, SyncTicks: int64(now)})
		e := nettracetest.Event{Provider: dotnetgc.Provider, ID: 9, Version: 1, Ticks: uint64(now), Thread: 1, Payload: make([]byte, payload)}
		w.Events(e)
		head := w.Bytes()
		w.Events(slices.Repeat([]nettracetest.Event{e}, 100)...)
		block := w.Bytes()[len(head):]
		_, err := conn.Write(head)
		for err == nil {
			_, err = conn.Write(block)
		}
	}
}
