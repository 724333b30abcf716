package dotnetipc

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Listener is a reverse port: runtimes that were started with
//
//	DOTNET_DiagnosticPorts=PATH,nosuspend
//
// dial it, whatever their namespace, as soon as they start, if their user may. Without
// nosuspend a runtime waits at its start for [Client.Resume], and hangs if
// no process listens.
type Listener struct {
	listener *net.UnixListener
	remove   func() // the file
	fresh    chan *Caller
	refused  atomic.Uint64
	stranger atomic.Int64  // the last user who may not dial and did, and one; 0 for none
	greeting chan struct{} // one for each connection that has not identified itself
	done     chan struct{}
	work     sync.WaitGroup

	o ListenOptions

	mu      sync.Mutex
	callers map[callerKey]*Caller // nil when closed
	pruned  time.Time             // when those were dropped last that have ended
	open    map[net.Conn]int      // greeting, by the user at the other end
}

// ListenOptions say which users' runtimes a Listener takes. The zero value takes those of
// this process's own user and of root.
type ListenOptions struct {
	// UIDs are further users, AnyUser says that all are.
	UIDs    []int
	AnyUser bool
	Proc    Proc
}

// Listen makes the socket at path. A file that a former Listener left there is
// replaced. Its mode is 0600, or 0666 where other users may dial: the kernel says
// which user dials, not the file.
func Listen(path string, o ListenOptions) (*Listener, error) {
	mode := fs.FileMode(0o600)
	if o.AnyUser || len(o.UIDs) > 0 {
		mode = 0o666
	}
	u, remove, err := listenUnix(path, mode)
	if err != nil {
		return nil, fmt.Errorf("listen for .NET runtimes: %w", err)
	}
	l := &Listener{
		listener: u, remove: remove, fresh: make(chan *Caller, maxRuntimes), done: make(chan struct{}),
		greeting: make(chan struct{}, maxGreeting), o: o,
		callers: make(map[callerKey]*Caller), open: make(map[net.Conn]int),
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
// runtime's, of a user who may not dial, or too many.
func (l *Listener) Refused() uint64 { return l.refused.Load() }

// Stranger returns the last user who dialled and may not, and whether there was one.
func (l *Listener) Stranger() (uid int, ok bool) {
	uid = int(l.stranger.Load()) - 1
	return uid, uid >= 0
}

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
	l.remove()
	err := l.listener.Close()
	l.work.Wait()
	for _, c := range callers {
		c.drop()
	}
	return err
}
