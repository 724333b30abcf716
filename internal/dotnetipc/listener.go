package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
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

// run accepts until Close. Each connection is greeted on a goroutine of its own,
// so that one that says nothing holds up no other.
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
		peer, err := peerOf(conn)
		if err != nil || !l.track(conn, peer.uid) {
			<-l.greeting
			l.refuse(conn)
			continue
		}
		key := l.keyOf(peer) // now: its number may be another's when it has spoken
		l.work.Go(func() {
			defer func() { <-l.greeting }()
			l.greet(conn, key, peer.uid)
		})
	}
}

func (l *Listener) refuse(conn net.Conn) {
	l.refused.Add(1)
	_ = conn.Close()
}

// track counts a connection that has to identify itself. It reports false if its user
// may not dial, or has too many of them.
func (l *Listener) track(conn net.Conn, uid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.allows(uid) {
		l.stranger.Store(int64(uid) + 1)
		return false
	}
	if l.callers == nil {
		return false
	}
	same := 0
	for _, other := range l.open {
		if other == uid {
			same++
		}
	}
	if same >= maxGreetingOfUser {
		return false
	}
	l.open[conn] = uid
	return true
}

func (l *Listener) allows(uid int) bool {
	return l.o.AnyUser || uid == 0 || uid == os.Geteuid() || slices.Contains(l.o.UIDs, uid)
}

// greet reads the identity of a caller and hands the connection to its Caller.
func (l *Listener) greet(conn *net.UnixConn, key callerKey, uid int) {
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
	if key.PID == 0 {
		key.cookie = a.cookie
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
	if err != nil || l.callers == nil || !l.place(conn, a, key, uid) {
		l.refuse(conn)
	}
}

// keyOf names a runtime that dialled, but for its cookie.
func (l *Listener) keyOf(p peer) callerKey {
	if p.pid != 0 {
		if id, err := l.o.Proc.Identify(p.pid); err == nil {
			return callerKey{Identity: id}
		}
	}
	return callerKey{uid: p.uid} // it is of another pid namespace, hidden, or has ended
}

// place gives conn to its caller. The newest connection counts: the runtime
// has closed the others.
func (l *Listener) place(conn net.Conn, a advertisement, key callerKey, uid int) bool {
	c := l.callers[key]
	if c == nil {
		if !l.room(key, uid) {
			return false
		}
		c = &Caller{Cookie: a.cookie, Identity: key.Identity, InnerPID: a.innerPID, listener: l, key: key, uid: uid, pending: make(chan net.Conn, 1)}
		c.Client = &Client{name: fmt.Sprintf("process %d", a.innerPID), dial: c.take}
		select {
		case l.fresh <- c:
		default:
			return false
		}
		l.callers[key] = c
	}
	c.drop()
	c.pending <- conn
	return true
}

// room reports whether there is room for another runtime of a user. Where there is none, those
// go first that have ended and were not forgotten, which is looked at every pruneEvery.
func (l *Listener) room(key callerKey, uid int) bool {
	if l.fits(key, uid) {
		return true
	}
	if time.Since(l.pruned) < pruneEvery {
		return false
	}
	l.pruned = time.Now()
	for known, c := range l.callers {
		if known.PID == 0 {
			continue
		}
		now, err := l.o.Proc.Identify(known.PID)
		if errors.Is(err, ErrNoProcess) || err == nil && now != known.Identity {
			delete(l.callers, known)
			c.drop()
		}
	}
	return l.fits(key, uid)
}

func (l *Listener) fits(key callerKey, uid int) bool {
	seen, unseen := 0, 0
	for known, c := range l.callers {
		switch {
		case c.uid != uid:
		case known.PID == 0:
			unseen++
		default:
			seen++
		}
	}
	if key.PID == 0 && unseen >= maxUnseenOfUser {
		return false
	}
	return seen+unseen < maxRuntimesOfUser && len(l.callers) < maxRuntimes
}

// Caller is a runtime that dialled a Listener.
type Caller struct {
	*Client
	// Identity is that of its process here, zero if it cannot be seen from here.
	Identity
	Cookie Cookie
	// InnerPID is its number for itself.
	InnerPID uint64

	listener *Listener
	key      callerKey
	uid      int
	pending  chan net.Conn // the connection that the next command takes
}

// callerKey names a runtime: by its process, of which it is the only one, or by its
// user and cookie where the process cannot be seen. A cookie is no secret, and
// any process can make one up.
type callerKey struct {
	Identity
	uid    int
	cookie Cookie
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
	if c.listener.callers[c.key] == c {
		delete(c.listener.callers, c.key)
	}
	c.drop()
}

// advertiseMagic begins what a runtime says of itself when it dials a reverse
// port: magic, cookie, u64 pid, u16 zero. ds-ipc.c, ds_ipc_advertise_v1_icp.
const advertiseMagic = "ADVR_V1\x00"

const advertiseSize = len(advertiseMagic) + len(Cookie{}) + 8 + 2

type advertisement struct {
	cookie   Cookie
	innerPID uint64
}

func readAdvertisement(r io.Reader) (advertisement, error) {
	var b [advertiseSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return advertisement{}, fmt.Errorf("read advertisement of %d bytes: %w", len(b), noEOF(err))
	}
	d := decoder{b: b[:]}
	if got := d.take(len(advertiseMagic), "magic"); string(got) != advertiseMagic {
		return advertisement{}, fmt.Errorf("read advertisement: magic is %q, want %q", got, advertiseMagic)
	}
	a := advertisement{cookie: d.cookie(), innerPID: d.u64()}
	return a, d.err
}
