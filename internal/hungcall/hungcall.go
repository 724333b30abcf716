// Package hungcall runs calls that may hang in the kernel, so that their callers do
// not. The file system that a process lives on may never answer (FUSE, a dead NFS
// server), and neither may its memory, of which the kernel reads its command line and
// its environment: no context and no deadline ends such a system call.
package hungcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// Patience is how long a call may take.
	Patience = 5 * time.Second
	// MaxCalls bounds the calls under way, those that hang among them: each holds a
	// thread.
	MaxCalls = 64
	// MaxOfUser bounds those for processes of one user, so that none uses up what
	// is there for all.
	MaxOfUser = 8
)

// ErrHangs says that a call for a process did not come back, or was not begun since
// others for that process, its user or all users have not.
var ErrHangs = errors.New("the kernel waits for what does not answer: its file system (FUSE, NFS), or its memory")

// Limiter knows the calls that are under way. A nil one bounds none: it is for programs
// that look at one process and end.
type Limiter struct {
	mu      sync.Mutex
	calls   map[*call]bool // and whether they were left hanging
	changed chan struct{}  // closed when one ends or is left; nil if no caller waits
	left    uint64
}

// call is one that is under way.
type call struct{ pid, user int }

// Left returns how many calls took longer than they may. A call that was cancelled
// before that is not among them.
func (l *Limiter) Left() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left
}

// Do returns what f does, which is about the files of a process. It returns at once
// when ctx is done, and after Patience at the latest: f goes on by itself then, and
// what it returns is closed if it can be. The error is ErrHangs if f took longer than
// Patience or the deadline of ctx, or was not called because too many calls hang.
func Do[T any](ctx context.Context, l *Limiter, pid int, f func() (T, error)) (T, error) {
	var none T
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, ErrHangs)
	defer cancel()
	c, err := l.begin(ctx, pid)
	if err != nil {
		return none, err
	}
	type result struct {
		v   T
		err error
	}
	results, left := make(chan result), make(chan struct{})
	go func() {
		v, err := f()
		select {
		case results <- result{v, err}:
		case <-left:
			if c, ok := any(v).(io.Closer); ok && err == nil {
				_ = c.Close() // it came too late
			}
			l.end(c)
		}
	}()
	select {
	case r := <-results:
		l.end(c)
		return r.v, r.err
	case <-ctx.Done():
		err := cause(ctx)
		l.leave(c, err)
		close(left)
		return none, err
	}
}

// cause returns why ctx is done: it hangs, where a caller waited for so long.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return ErrHangs
}

// begin waits until there is room for a call for a process. It does not wait for calls
// that were left hanging.
func (l *Limiter) begin(ctx context.Context, pid int) (*call, error) {
	c := &call{pid: pid}
	if l != nil {
		c.user = userOf(pid)
	}
	for {
		if ctx.Err() != nil {
			return nil, cause(ctx)
		}
		if l == nil {
			return c, nil
		}
		changed, err := l.admit(c)
		if changed == nil {
			return c, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// admit takes a call in, or returns why there will be no room for it, or what is closed
// when there may be.
func (l *Limiter) admit(c *call) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, same, hang, hangSame := len(l.calls), 0, 0, 0
	for other, hangs := range l.calls {
		if hangs {
			hang++
		}
		if hangs && other.pid == c.pid {
			return nil, fmt.Errorf("%w (an earlier call for it still waits)", ErrHangs)
		}
		if other.user != c.user {
			continue
		}
		if same++; hangs {
			hangSame++
		}
	}
	switch {
	case hangSame >= MaxOfUser:
		return nil, fmt.Errorf("%w (of %d other processes of its user, which is as many as are waited for)", ErrHangs, MaxOfUser)
	case hang >= MaxCalls:
		return nil, fmt.Errorf("%w (of %d other processes, which is as many as are waited for)", ErrHangs, MaxCalls)
	case same >= MaxOfUser || all >= MaxCalls:
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		return l.changed, nil
	}
	if l.calls == nil {
		l.calls = make(map[*call]bool)
	}
	l.calls[c] = false
	return nil, nil
}

// leave keeps a call that is not waited for any longer, and why.
func (l *Limiter) leave(c *call, why error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[c] = true
	if errors.Is(why, ErrHangs) {
		l.left++
	}
	l.wake()
}

func (l *Limiter) end(c *call) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c)
	l.wake()
}

// tell wakes those that wait for room.
func (l *Limiter) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// userOf returns the user of a process by its status, which the kernel knows without
// asking another program; -1 if it has ended.
func userOf(pid int) int {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return -1
	}
	defer func() { _ = f.Close() }() // it was only read
	text, _ := io.ReadAll(io.LimitReader(f, 1<<16))
	_, rest, _ := strings.Cut(string(text), "\nUid:")
	user := -1
	_, _ = fmt.Sscan(rest, &user)
	return user
}
