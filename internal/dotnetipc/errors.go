package dotnetipc

import "errors"

// Errors of finding and reaching a runtime. The text that wraps them says which
// process, why, and the mend, on one line.
var (
	// ErrNoProcess: there is no such process, or no longer.
	ErrNoProcess = errors.New("no such process")
	// ErrStarting: the process is being executed, and what it is given is not known yet.
	ErrStarting = errors.New("it is only being executed")
	// ErrNoSocket: the process has no diagnostics socket.
	ErrNoSocket = errors.New("no diagnostics socket")
	// ErrStaleSocket: the socket's file is there and no process listens on it.
	ErrStaleSocket = errors.New("stale diagnostics socket")
	// ErrOtherProcess: another process listens on the socket.
	ErrOtherProcess = errors.New("the socket is of another process")
	// ErrBusy: the runtime has no session left.
	ErrBusy = errors.New("no session left")
	// ErrNoAnswer: the runtime took the connection and did not answer in time.
	ErrNoAnswer = errors.New("no answer")
	// ErrInduces: the request would make the process collect.
	ErrInduces = errors.New("the request induces collections")
	// ErrPart: there is more than was looked at.
	ErrPart = errors.New("too large")
)
