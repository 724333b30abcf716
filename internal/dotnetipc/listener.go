package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Listener is a reverse port: runtimes that were started with
//
//	DOTNET_DiagnosticPorts=PATH,nosuspend
//
// dial it, whatever their user and namespace, as soon as they start. Without
// nosuspend a runtime waits at its start for [Client.Resume], and hangs if
// nobody listens.
type Listener struct {
	listener *net.UnixListener
	fresh    chan *Caller
	refused  atomic.Uint64
	greeting chan struct{} // one for each connection that has not said who it is
	done     chan struct{}
	work     sync.WaitGroup

	mu      sync.Mutex
	callers map[Cookie]*Caller // nil when closed
	open    map[net.Conn]bool  // greeting
}

// Caller is a runtime that dialled a Listener.
type Caller struct {
	*Client
	Cookie Cookie
	// PID is its number here, 0 if it cannot be seen from here.
	PID int
	// InnerPID is its number for itself.
	InnerPID uint64

	listener *Listener
	pending  chan net.Conn // the connection that the next command takes
}

// Listen makes the socket at path. A file that a former Listener left there is
// replaced. Anybody who can reach the path may dial it: that is decided by the
// directory it is in, since the runtime's user is not known.
func Listen(path string) (*Listener, error) {
	u, err := listenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("listen for .NET runtimes: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		_ = u.Close()
		return nil, fmt.Errorf("listen for .NET runtimes: %w", err)
	}
	l := &Listener{
		listener: u, fresh: make(chan *Caller, maxRuntimes), done: make(chan struct{}),
		greeting: make(chan struct{}, maxGreeting),
		callers:  make(map[Cookie]*Caller), open: make(map[net.Conn]bool),
	}
	l.work.Go(l.run)
	return l, nil
}

func listenUnix(path string) (*net.UnixListener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s has %d bytes, at most %d fit a socket: choose a shorter path", path, len(path), maxSocketPath)
	}
	address := &net.UnixAddr{Name: path, Net: "unix"}
	u, err := net.ListenUnix("unix", address)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return u, err
	}
	// A socket that nobody listens on is left of one that was killed.
	conn, dialErr := net.DialUnix("unix", nil, address)
	if dialErr == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: another process listens on it", path)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSocket == 0 || !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%s is there and no socket of a former run: remove it or choose another path", path)
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.ListenUnix("unix", address)
}

// Accept returns the next runtime that dials for the first time.
func (l *Listener) Accept(ctx context.Context) (*Caller, error) {
	select {
	case c := <-l.fresh:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Refused returns how many connections were closed because they were no
// runtime's, or too many.
func (l *Listener) Refused() uint64 { return l.refused.Load() }

// Close ends the listener and the connections that no command has taken.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.callers == nil {
		l.mu.Unlock()
		return nil
	}
	callers := l.callers
	l.callers = nil
	for conn := range l.open {
		_ = conn.Close()
	}
	l.mu.Unlock()
	close(l.done)
	err := l.listener.Close()
	l.work.Wait()
	for _, c := range callers {
		c.drop()
	}
	return err
}

func (l *Listener) run() {
	for {
		conn, err := l.listener.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select { // out of descriptors, say: the rest of the program goes on
			case <-time.After(100 * time.Millisecond):
				continue
			case <-l.done:
				return
			}
		}
		select {
		case l.greeting <- struct{}{}:
		default:
			l.refuse(conn)
			continue
		}
		if !l.track(conn) {
			<-l.greeting
			_ = conn.Close()
			return
		}
		l.work.Go(func() {
			defer func() { <-l.greeting }()
			l.greet(conn)
		})
	}
}

func (l *Listener) refuse(conn net.Conn) {
	l.refused.Add(1)
	_ = conn.Close()
}

func (l *Listener) track(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.callers == nil {
		return false
	}
	l.open[conn] = true
	return true
}

// greet reads who dialled and hands the connection to its Caller.
func (l *Listener) greet(conn *net.UnixConn) {
	a, err := func() (advertisement, error) {
		if err := conn.SetReadDeadline(time.Now().Add(DefaultTimeout)); err != nil {
			return advertisement{}, err
		}
		a, err := readAdvertisement(conn)
		if err != nil {
			return a, err
		}
		return a, conn.SetReadDeadline(time.Time{})
	}()
	pid := 0
	if err == nil {
		pid, err = peerPID(conn)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
	if err != nil || l.callers == nil || !l.place(conn, a, pid) {
		l.refuse(conn)
	}
}

// place gives conn to its caller. The newest connection counts: the runtime
// has closed the others.
func (l *Listener) place(conn net.Conn, a advertisement, pid int) bool {
	c := l.callers[a.cookie]
	if c == nil {
		if len(l.callers) >= maxRuntimes {
			return false
		}
		c = &Caller{Cookie: a.cookie, PID: pid, InnerPID: a.innerPID, listener: l, pending: make(chan net.Conn, 1)}
		c.Client = &Client{name: fmt.Sprintf("process %d", a.innerPID), dial: c.take}
		select {
		case l.fresh <- c:
		default:
			return false
		}
		l.callers[a.cookie] = c
	}
	if c.PID != pid {
		return false // a cookie is no secret: it is in every trace file
	}
	c.drop()
	c.pending <- conn
	return true
}

// take waits for the runtime to dial. It does so at once after each command.
func (c *Caller) take(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-c.pending:
		return conn, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: it has not dialled again", ErrNoAnswer)
	case <-c.listener.done:
		return nil, net.ErrClosed
	}
}

// drop closes the connection that waits, if there is one.
func (c *Caller) drop() {
	select {
	case conn := <-c.pending:
		_ = conn.Close()
	default:
	}
}

// Forget ends what the listener knows of a runtime that is gone. If it dials
// again it is a new one.
func (c *Caller) Forget() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.listener.callers[c.Cookie] == c {
		delete(c.listener.callers, c.Cookie)
	}
	c.drop()
}
