package dotnetipc

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
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
