package nettrace

import (
	"errors"
	"fmt"
	"unsafe"
)

// The defaults of [Limits]: for a stream of a process that is not trusted.
// All together are some 12 MB, of which a stream of a real one has a hundredth.
const (
	// DefaultBlockBytes is ten times the largest block of a runtime: it keeps
	// its blocks near 100 kB (ep-block.c).
	DefaultBlockBytes = 1 << 20
	// DefaultHeldEvents and DefaultHeldBytes are ten times what one flush holds
	// of a process that allocates gigabytes in a second, or that collects a
	// hundred heaps a hundred times in one: the runtime flushes every 100 ms.
	DefaultHeldEvents = 1 << 15
	DefaultHeldBytes  = 4 << 20
	// DefaultMetadata: a session with the provider of the runtime has less than
	// a hundred types of events.
	DefaultMetadata  = 1 << 12
	DefaultNameBytes = 1 << 19
	// DefaultThreads: a sequence point names every thread that had an event.
	DefaultThreads = 1 << 14
)

// The limits of the package itself.
const (
	// MaxTypeName is the longest name of an object in formats 4 and 5.
	MaxTypeName = 128
	// MaxKeyValues is the number of pairs in a trace block of format 6.
	MaxKeyValues = 1 << 12
)

// Limits bounds the memory of a [Reader]. A zero field means its default.
type Limits struct {
	// BlockBytes is the length of one block. Over it: an error.
	BlockBytes int
	// HeldEvents and HeldBytes bound what is held back until its order is
	// certain, the events and their payloads. Over it all is handed out, and
	// counted in Stats.Forced.
	HeldEvents, HeldBytes int
	// Metadata is the largest id of a type of event, NameBytes the sum of all
	// names, each with what it takes to keep it apart from the others. Over it:
	// an error.
	Metadata, NameBytes int
	// Threads that are known at once. Over it, what is known of their sequence
	// numbers is forgotten and counted in Stats.Forgotten; in format 6, where
	// their ids would be lost with it, an error.
	Threads int
}

// FileLimits returns limits for a file that its owner wants to read: tools write
// blocks as large as format 6 allows, and the events of every provider.
func FileLimits() Limits {
	return Limits{
		BlockBytes: 1<<24 - 1, HeldEvents: 1 << 18, HeldBytes: 32 << 20,
		Metadata: 1 << 16, NameBytes: 8 << 20, Threads: 1 << 16,
	}
}

func (l Limits) withDefaults() Limits {
	set := func(p *int, d int) {
		if *p <= 0 {
			*p = d
		}
	}
	set(&l.BlockBytes, DefaultBlockBytes)
	set(&l.HeldEvents, DefaultHeldEvents)
	set(&l.HeldBytes, DefaultHeldBytes)
	set(&l.Metadata, DefaultMetadata)
	set(&l.NameBytes, DefaultNameBytes)
	set(&l.Threads, DefaultThreads)
	return l
}

// The memory of what a reader holds, in bytes: no less than the heap has. A map
// can be half empty, and keeps its memory when it is emptied.
const (
	readerBytes = int(unsafe.Sizeof(Reader{})) + 512
	itemBytes   = int(unsafe.Sizeof(item{}))
	runBytes    = int(unsafe.Sizeof(run{}))
	typeBytes   = int(unsafe.Sizeof(eventType{}))*9/8 + int(unsafe.Sizeof(&eventType{}))
	nameBytes   = 128 // of a name, besides its text
	threadBytes = 96
	rowBytes    = 3 * int(unsafe.Sizeof(threadRow{})+unsafe.Sizeof(uint64(0)))
)

// Held returns how many bytes of memory the reader holds at most. It may be
// called from the Read of the reader's own stream.
func (r *Reader) Held() int {
	return readerBytes + cap(r.src.buf) + r.types.held() + r.threads.held() +
		cap(r.held.items)*itemBytes + cap(r.held.payloads) + cap(r.held.runs)*runBytes
}

func (t *types) held() int {
	return cap(t.list)*int(unsafe.Sizeof(&eventType{})) + t.defined*typeBytes + t.bytes*9/8 + cap(t.scratch)
}

func (t *threads) held() int { return t.mostCaptured*threadBytes + t.mostRows*rowBytes }

// Steps returns a measure of the work that the stream was: how many events,
// losses, types, threads and blocks were decoded.
func (r *Reader) Steps() uint64 { return r.steps }

// Stats counts what a stream held and what happened to it.
type Stats struct {
	Events    uint64 // handed out or not wanted
	Lost      uint64 // events that their threads numbered and the stream does not hold
	Untyped   uint64 // events whose type the stream does not define; not handed out, but as lost
	Late      uint64 // handed out after an event of a later time: they came after a flush, or broke their promise
	Forced    uint64 // times that events were handed out early because of HeldEvents or HeldBytes
	Forgotten uint64 // threads whose sequence numbers were forgotten
}

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
