package nettrace

import (
	"errors"
	"fmt"
)

// ErrVersion says that the stream is of a format that this package does not
// decode. The text names it and the mend.
var ErrVersion = errors.New("format not supported")

// ErrFormat says that the bytes are not what the format allows.
var ErrFormat = errors.New("broken stream")

// ErrLimit says that the stream needs more than a limit allows.
var ErrLimit = errors.New("stream over limit")

// Error is an error of the stream and its place. A stream that ends without
// its end tag, as that of a killed process does, is io.ErrUnexpectedEOF; an
// error of the underlying reader is passed through.
type Error struct {
	Offset int64 // bytes from the start of the stream
	Err    error
}

// Error says what is wrong and where.
func (e *Error) Error() string {
	return fmt.Sprintf("decode nettrace at byte %d: %v", e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

func overLimit(what string, got, limit uint64) error {
	return fmt.Errorf("%w: %s %d, at most %d", ErrLimit, what, got, limit)
}

func unsupported(version int64) error {
	return fmt.Errorf("%w: nettrace %d, supported are 4, 5 and 6", ErrVersion, version)
}
