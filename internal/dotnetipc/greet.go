package dotnetipc

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// run accepts until Close. Each connection says who it is on a goroutine of its own,
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
