package board

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

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
	// Dropped is the number of gaps that the probe could not keep since its
	// start, DroppedTime their sum.
	Dropped     uint64
	DroppedTime time.Duration
	// WriterPID is in the writer's PID namespace; WriterCreated is field 22 of
	// its /proc/PID/stat.
	WriterPID     int32
	WriterCreated uint64
	// Generation differs between any two writers. Restarted says that it is
	// not the one of the last read.
	Generation uint64
	Restarted  bool
	// Closed says that the writer has said goodbye.
	Closed bool
	// Source and CPUs say what probes, and where.
	Source stall.Source
	CPUs   []int
	// Next is why the file that has taken the place of this one cannot be
	// read. Nil if there is none.
	Next error
}

// Reader reads a board. Its methods may be called from any goroutine.
type Reader struct {
	path string
	uid  int
	boot string

	mu   sync.Mutex
	file *os.File
	tape *tape
}

// Open opens the board at path; empty means [Path]. The file must be a regular
// one of root's or of this user, of this boot, and whole: else the error is
// [ErrForeign] or [ErrStale]. Without a file it is [io/fs.ErrNotExist].
func Open(path string) (*Reader, error) {
	if path == "" {
		path = Path()
	}
	boot, err := stall.BootID()
	if err != nil {
		return nil, fmt.Errorf("open board %s: %w", path, err)
	}
	r := &Reader{path: path, uid: os.Geteuid(), boot: boot}
	r.file, r.tape, err = r.open()
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Reader) open() (*os.File, *tape, error) {
	f, size, err := openFile(r.path, r.uid)
	if err != nil {
		return nil, nil, fmt.Errorf("open board: %w", err)
	}
	t, err := openTape(f, size, r.boot)
	if err != nil {
		_ = f.Close() // read only
		return nil, nil, fmt.Errorf("open board %s: %w", r.path, err)
	}
	return f, t, nil
}

// Read appends the records that came since the last Read to dst, in the order
// of writing; the first one appends all that the ring still holds. When
// another writer has taken over, it reads the old file to its end and goes on
// with the new one. On an error dst is returned as it was, and Status is zero.
func (r *Reader) Read(dst []stall.Interval) ([]stall.Interval, Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return dst, Status{}, fmt.Errorf("read board %s: %w", r.path, os.ErrClosed)
	}
	// Asked first: then the old file is read to its end before it is left.
	moved := movedAway(r.file, r.path)
	all, n, err := r.tape.advance(dst)
	if err != nil {
		return dst, Status{}, fmt.Errorf("read board %s: %w", r.path, err)
	}
	if !moved {
		return all, r.status(n), nil
	}
	f, next, err := r.open()
	if err != nil {
		s := r.status(n)
		s.Next = err
		return all, s, nil
	}
	all, m, err := next.advance(all)
	if err != nil {
		_ = f.Close() // read only
		s := r.status(n)
		s.Next = fmt.Errorf("read board %s: %w", r.path, err)
		return all, s, nil
	}
	if gap := (stall.Span{Start: r.tape.live.watermark, End: next.since}); !gap.Empty() {
		n.unseen = append(n.unseen, gap)
	}
	n.lost += m.lost
	n.unseen = append(n.unseen, m.unseen...)
	_ = r.file.Close() // read only
	r.file, r.tape = f, next
	s := r.status(n)
	s.Restarted = true
	return all, s, nil
}

func (r *Reader) status(n news) Status {
	t := r.tape
	return Status{
		Since: t.since, Watermark: t.live.watermark,
		Unseen: n.unseen, Lost: n.lost,
		Dropped: t.live.dropped, DroppedTime: t.live.droppedTime,
		WriterPID: t.pid, WriterCreated: t.created,
		Generation: t.generation, Closed: t.live.closed,
		Source: t.source, CPUs: slices.Clone(t.cpus),
	}
}

// Close closes the board.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
