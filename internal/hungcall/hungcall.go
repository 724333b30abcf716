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
	// MaxHanging bounds the processes that calls hang of: each call holds a thread.
	MaxHanging = 64
	// MaxOfUser bounds those of one user, so that nobody uses up what is there for
	// all.
	MaxOfUser = 8
)

// ErrHangs says that a call for a process did not come back, or was not tried since
// others for that process, its user or all users have not.
var ErrHangs = errors.New("the kernel waits for what does not answer: its file system (FUSE, NFS), or its memory")

// Limiter knows the calls that hang. A nil one bounds none: it is for programs that
// look at one process and end.
type Limiter struct {
	mu      sync.Mutex
	hanging map[int]hung // by process
	left    uint64
}

// hung is a process that calls hang of. There are several where they were begun at once.
type hung struct{ user, calls int }

// Left returns how many calls were left hanging so far.
func (l *Limiter) Left() uint64 {
	if l == nil {
		return 0
	}
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
	if err := context.Cause(ctx); err != nil {
		return none, err
	}
	if err := l.admit(pid); err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, ErrHangs)
	defer cancel()
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
				_ = c.Close() // nobody wants it
			}
			l.end(pid)
		}
	}()
	select {
	case r := <-results:
		return r.v, r.err
	case <-ctx.Done():
		l.leave(pid)
		close(left)
		if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
			return none, err
		}
		return none, ErrHangs
	}
}

// admit returns why no call for a process may be begun.
func (l *Limiter) admit(pid int) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, hangs := l.hanging[pid]; hangs {
		return fmt.Errorf("%w (an earlier call for it still waits)", ErrHangs)
	}
	if len(l.hanging) >= MaxHanging {
		return fmt.Errorf("%w (of %d other processes, which is as many as are waited for)", ErrHangs, MaxHanging)
	}
	if len(l.hanging) < MaxOfUser {
		return nil
	}
	user, same := userOf(pid), 0
	for _, other := range l.hanging {
		if other.user == user {
			same++
		}
	}
	if same >= MaxOfUser {
		return fmt.Errorf("%w (of %d other processes of its user, which is as many as are waited for)", ErrHangs, MaxOfUser)
	}
	return nil
}

func (l *Limiter) leave(pid int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hanging == nil {
		l.hanging = make(map[int]hung)
	}
	h := l.hanging[pid]
	if h.calls++; h.calls == 1 {
		h.user = userOf(pid)
	}
	l.hanging[pid] = h
	l.left++
}

func (l *Limiter) end(pid int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hanging[pid]
	if h.calls--; h.calls > 0 {
		l.hanging[pid] = h
		return
	}
	delete(l.hanging, pid)
}

// userOf returns the user of a process by its status, which the kernel knows without
// asking anybody; -1 if it has ended.
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
