package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/otelgc/otelgc/internal/capturefile"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// ErrUnknown is the error for a file of another format.
var ErrUnknown = errors.New("neither a Go execution trace, nor a .NET nettrace file, nor a recording, nor a captured request")

// ErrOpen is the error for a file that cannot be opened.
var ErrOpen = errors.New("open file")

// notOpen is an ErrOpen with the text of package os, which names the file.
type notOpen struct{ error }

func (e notOpen) Is(target error) bool { return target == ErrOpen }

func (e notOpen) Unwrap() error { return e.error }

// Damaged is the error for a file that could be read only up to a place, and does not end
// there. The report holds what was whole before it.
type Damaged struct{ Err error }

// Error returns what is wrong and where.
func (d *Damaged) Error() string { return d.Err.Error() }

// Unwrap returns the cause.
func (d *Damaged) Unwrap() error { return d.Err }

// ReadFile returns the report of a file. The content decides the format. An error is one
// line: the file, what is wrong, where, and what to do. It wraps ErrOpen, or ErrUnknown
// if no format fits. If a part of the file was whole, the report is not nil and the
// error is a *Damaged.
func ReadFile(path string, o Options) (*Report, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: name a Go trace, a .nettrace file, a recording of otelgc-sidecar run --record, or the .json of a captured request", err)
	}
	if err != nil {
		return nil, notOpen{err}
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, notOpen{fmt.Errorf("open %s: it is a directory: name a file in it", path)}
	}
	return Read(path, f, o)
}

// Read is ReadFile of a stream that is open already.
func Read(path string, stream io.Reader, o Options) (*Report, error) {
	counted := &counter{r: stream}
	in := bufio.NewReaderSize(counted, 64<<10)
	start, err := in.Peek(64)
	if err != nil && err != io.EOF {
		return nil, err // of package os, which names the path
	}
	format := formatOf(start)
	if format.read == nil {
		return nil, fmt.Errorf("%s: byte 0: %w: %s", path, ErrUnknown, format.hint)
	}
	r := &Report{
		Schema: Schema, Source: Source{File: path},
		Collections: []*Collection{}, Suspensions: []recording.Suspension{}, Incomplete: []Hole{},
	}
	err = format.read(r, in, o)
	if err == nil && r.endsAt > 0 {
		err = nothingBehind(r.endsAt, in, counted)
	}
	r.Source.Bytes = counted.n
	if err != nil && !errors.As(err, new(*Damaged)) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.settle()
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}

// nothingBehind checks that the file ends where its stream does: files can have
// been put together.
func nothingBehind(end int64, in io.Reader, counted *counter) error {
	if _, err := io.Copy(io.Discard, in); err != nil {
		return &Damaged{fmt.Errorf("read on at byte %d: %w", end, err)}
	}
	if behind := counted.n - end; behind > 0 {
		return &Damaged{fmt.Errorf("byte %d: the stream ends here, and %s follow: report on each recording by itself", end, textfmt.Many(behind, "byte"))}
	}
	return nil
}

// counter counts the bytes that were read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// format is one that files have.
type format struct {
	magic string
	read  func(*Report, io.Reader, Options) error // nil if there is no reader
	hint  string                                  // what to do, where read is nil
}

// formats ends with one that fits every file.
var formats = []format{
	{magic: "go 1.", read: readGo},
	{magic: "Nettrace", read: readDotnet},
	{magic: "otelgc recording ", read: readRecording},
	{magic: "\x14\x00\x00\x00!FastSerialization.1", hint: "it is a NetPerf file, which .NET Core before 3.0 wrote: record with 3.0 or later"},
	{magic: "\x1f\x8b", hint: "it is gzip: unpack it first; a pprof profile, which is gzip too, is no trace"},
	{magic: "PK\x03\x04", hint: "it is a zip: unpack it first"},
	{magic: capturefile.Magic, read: readCapture},
	{magic: "{", hint: "it looks like JSON: a report is made of the recording itself, or of the numbers of a request that otelgc/capture kept"},
	{hint: "want what runtime/trace, /debug/pprof/trace, dotnet-trace or DOTNET_EnableEventPipe=1 wrote, or run --record, or otelgc/capture"},
}

func formatOf(start []byte) (f format) {
	for _, f = range formats {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			break
		}
	}
	if len(start) == 0 {
		f.hint = "it is empty: " + f.hint
	}
	return f
}
