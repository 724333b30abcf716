package gotrace

import (
	"errors"
	"fmt"
)

// ErrVersion says that the trace is of a version that this package does not
// decode.
var ErrVersion = errors.New("trace version not supported")

// ErrFormat says that the bytes are not what the format allows.
var ErrFormat = errors.New("broken trace")

// ErrLimit says that the trace needs more than a limit allows.
var ErrLimit = errors.New("trace over limit")

// Error is an error of the stream and its place. Truncation is
// io.ErrUnexpectedEOF; an error of the underlying reader is passed through.
type Error struct {
	Offset int64 // bytes from the start of the stream
	Err    error
}

// Error says what is wrong and where.
func (e *Error) Error() string {
	return fmt.Sprintf("decode go trace at byte %d: %v", e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

func overLimit(what string, got, limit int64) error {
	return fmt.Errorf("%w: %s %d, at most %d", ErrLimit, what, got, limit)
}
