package board

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// Status is what a read of the board says beside the records.
type Status struct {
	// Since is where the writer's sight, or its ring's memory, begins.
	// Watermark is how far it has seen: all gaps that ended before it are in
	// the board. A watermark that grows old means a dead writer.
	Since, Watermark stall.Instant
	// Unseen are the spans, between this read and the last, in which gaps may
	// be missing: records that were overwritten before they were read, gaps
	// that the probe dropped, time without a writer.
	Unseen []stall.Span
	// Lost is the number of records since the last read that were overwritten.
	Lost uint64
	// Generation differs between any two writers.
	Generation uint64
	// Next is why a file that has taken the place of this one, or is in a better
	// place, cannot be read. Nil if there is none.
	Next error
}

// Reader reads a board. It is for one goroutine.
type Reader struct {
	paths []string
	boot  string
	file  *os.File
	tape  *tape
}

// Open opens the first board at paths, such as [Paths], that can be believed: a
// regular file of root's or of this user, that no other user can change or take the
// place of, of this boot, and whole. If there is none the error is [ErrForeign] or
// [ErrStale], and without a file [io/fs.ErrNotExist].
func Open(paths ...string) (*Reader, error) {
	boot, err := stall.BootID()
	if err != nil {
		return nil, fmt.Errorf("open board: %w", err)
	}
	r := &Reader{paths: paths, boot: boot}
	var refused error
	if r.file, r.tape, refused = r.open(); r.file == nil {
		return nil, refused
	}
	return r, nil
}

// open opens the first board that can be believed. The error says why those
// before it could not be; that there is none counts only if there is none at all.
func (r *Reader) open() (*os.File, *tape, error) {
	missing, refused := fmt.Errorf("open board: %w", fs.ErrNotExist), error(nil)
	for _, path := range r.paths {
		f, t, err := openTapeAt(path, r.boot)
		switch {
		case err == nil:
			return f, t, refused
		case errors.Is(err, fs.ErrNotExist):
			missing = fmt.Errorf("open board: %w", err)
		case refused == nil:
			refused = fmt.Errorf("open board: %w", err)
		default:
			refused = fmt.Errorf("%w; %w", refused, err)
		}
	}
	if refused != nil {
		return nil, nil, refused
	}
	return nil, nil, missing
}

func openTapeAt(path, boot string) (*os.File, *tape, error) {
	f, size, err := openBoard(path)
	if err != nil {
		return nil, nil, err
	}
	t, err := openTape(f, size, boot)
	if err != nil {
		_ = f.Close() // read only
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, t, nil
}

// moved reports whether the first path at which there is a file names another one
// than that which is open. It is a hint, and believes nothing: open does the
// checks. While there is no file anywhere, the open one is all there is.
func (r *Reader) moved() bool {
	for _, path := range r.paths {
		if now, err := os.Lstat(path); err == nil {
			return !sameFile(r.file, now)
		}
	}
	return false
}

func sameFile(f *os.File, as fs.FileInfo) bool {
	is, err := f.Stat()
	return err == nil && os.SameFile(is, as)
}

// Read appends the records that came since the last Read to dst, in the order
// of writing; the first one appends all that the ring still holds. When
// another writer has taken over, it reads the old file to its end and goes on
// with the new one. On an error dst is returned as it was, and Status is zero.
func (r *Reader) Read(dst []stall.Interval) ([]stall.Interval, Status, error) {
	// Asked first: then the old file is read to its end before it is left.
	moved := r.moved()
	all, s, err := r.tape.advance(dst)
	if err != nil {
		return dst, Status{}, fmt.Errorf("read board %s: %w", r.file.Name(), err)
	}
	if moved {
		all, s = r.follow(all, s)
	}
	return all, s, nil
}

// follow goes on with the board that has taken the place of the one that s and all are
// of, if it can be read.
func (r *Reader) follow(all []stall.Interval, s Status) ([]stall.Interval, Status) {
	f, next, refused := r.open()
	s.Next = refused
	if f == nil {
		return all, s
	}
	now, err := f.Stat()
	if err != nil || sameFile(r.file, now) {
		_ = f.Close() // read only
		s.Next = errors.Join(refused, err)
		return all, s
	}
	old := len(all)
	both, after, err := next.advance(all)
	if err != nil {
		s.Next = fmt.Errorf("read board %s: %w", f.Name(), err)
		_ = f.Close() // read only
		return all, s
	}
	// The writer of another place may have watched beside the last one, which has
	// reported everything before its watermark.
	both = both[:old+len(slices.DeleteFunc(both[old:], func(v stall.Interval) bool { return v.End <= s.Watermark }))]
	if gap := (stall.Span{Start: s.Watermark, End: after.Since}); !gap.Empty() {
		s.Unseen = append(s.Unseen, gap)
	}
	after.Unseen, after.Lost, after.Next = append(s.Unseen, after.Unseen...), s.Lost+after.Lost, refused
	_ = r.file.Close() // read only
	r.file, r.tape = f, next
	return both, after
}

// Close closes the board. A second Close returns [os.ErrClosed].
func (r *Reader) Close() error { return r.file.Close() }
