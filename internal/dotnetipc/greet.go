package dotnetipc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
)

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
