package recording

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
)

// flushEvery is what a crash may cost.
const flushEvery = time.Second

// Writer appends to a recording. Its methods are for any goroutine, and none of
// them waits for the disk but Close.
type Writer struct {
	to file

	mu       sync.Mutex
	gaps     []probeGap
	pending  []byte      // frames of all else
	records  uint64      // in pending
	ofTarget map[int]int // bytes in pending, by target
	dropped  uint64
	closed   bool
	err      error // of the disk: nothing is written after it

	quit, ended chan struct{}
	once        sync.Once
}

// probeGap is a gap that waits to be written.
type probeGap struct {
	probe int
	jitterprobe.Gap
}

// file is what a recording is written to.
type file interface {
	io.WriteCloser
	Sync() error
}

// newWriter writes what comes first at once.
func newWriter(to file, e Environment) *Writer {
	w := &Writer{to: to, pending: []byte(Magic), ofTarget: make(map[int]int), quit: make(chan struct{}), ended: make(chan struct{})}
	w.Add(e)
	w.flush()
	go w.run()
	return w
}

// Gap records a gap of a probe, by its ID.
func (w *Writer) Gap(probe int, g jitterprobe.Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.gaps) == MaxPending || w.err != nil || w.closed {
		w.dropped++
		return
	}
	w.gaps = append(w.gaps, probeGap{probe, g})
}

// Add records anything else.
func (w *Writer) Add(r Record) {
	body, err := encode(nil, r)
	target := targetOf(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	size := len(w.pending) + len(body)
	if err != nil || len(body) >= MaxRecord || size > maxPendingBytes || w.err != nil || w.closed ||
		target != 0 && w.ofTarget[target]+len(body) > maxBytesOfTarget {
		w.dropped++
		return
	}
	if r.kind() == KindEnd {
		w.takeGaps() // nothing is behind the end
	}
	w.pending = appendFrame(w.pending, r.kind(), body)
	w.records++
	if target != 0 {
		w.ofTarget[target] += len(body)
	}
}

// takeGaps makes frames of the gaps that wait. The record of a probe precedes its first gap.
func (w *Writer) takeGaps() {
	w.pending = appendGapFrames(w.pending, w.gaps)
	w.records += uint64(len(w.gaps))
	w.gaps = w.gaps[:0]
}

// targetOf returns the target of a record of which a target makes many, else 0.
func targetOf(r Record) int {
	switch r := r.(type) {
	case Collection:
		return r.Target
	case Suspension:
		return r.Target
	}
	return 0
}

// Dropped returns how many gaps and records did not get into the file.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Err returns what ended the recording before its time, nil as long as nothing
// did.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close writes what is left, and returns what Err does. A recording that ends in
// good order has been given an End before.
func (w *Writer) Close() error {
	w.once.Do(func() {
		close(w.quit)
		<-w.ended
		w.mu.Lock()
		w.closed = true
		w.dropped += uint64(len(w.gaps)) + w.records // they came too late
		w.gaps, w.pending, w.records = nil, nil, 0
		w.mu.Unlock()
		w.lose(0, w.to.Close())
	})
	return w.Err()
}

func (w *Writer) run() {
	defer close(w.ended)
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-w.quit:
			w.flush()
			return
		case <-ticker.C:
			w.flush()
		}
	}
}

// lose counts what did not get into the file, and keeps the first error.
func (w *Writer) lose(n uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped += n
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("write recording: %w", err)
	}
}

// flush writes what was added since the last one, if nothing failed before.
func (w *Writer) flush() {
	w.mu.Lock()
	w.takeGaps()
	frames, count, err := w.pending, w.records, w.err
	w.pending, w.records = nil, 0
	clear(w.ofTarget)
	w.mu.Unlock()
	if err == nil && len(frames) > 0 {
		if _, err = w.to.Write(frames); err == nil {
			err = w.to.Sync()
		}
	}
	if err != nil {
		w.lose(count, err)
	}
}

// appendGapFrames appends records of the gaps, of one probe each.
func appendGapFrames(frames []byte, gaps []probeGap) []byte {
	slices.SortStableFunc(gaps, func(a, b probeGap) int { return cmp.Compare(a.probe, b.probe) })
	var list []jitterprobe.Gap
	var body []byte
	for i := range gaps {
		list = append(list, gaps[i].Gap)
		if last := i+1 == len(gaps); last || len(list) == gapsOfRecord || gaps[i+1].probe != gaps[i].probe {
			body = appendGaps(body[:0], Gaps{Probe: gaps[i].probe, List: list})
			frames = appendFrame(frames, KindGaps, body)
			list = list[:0]
		}
	}
	return frames
}

func encode(b []byte, r Record) ([]byte, error) {
	switch r := r.(type) {
	case Gaps:
		return appendGaps(b, r), nil
	case Doctor:
		return r.RawMessage, nil
	}
	return json.Marshal(r)
}

// Create begins a recording in a file that must not exist.
func Create(path string, e Environment) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create recording %s: %w: name another, or remove it", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("create recording: %w", err)
	}
	return begun(newWriter(f, e), path)
}

// begun returns w if its beginning is in the file. A file without one is of no use,
// and would be in the way of the next attempt: it is taken away.
func begun(w *Writer, path string) (*Writer, error) {
	syncDir(filepath.Dir(path))
	err := w.Err()
	if err == nil {
		return w, nil
	}
	_ = w.Close() // it repeats err
	return nil, errors.Join(err, os.Remove(path))
}

// syncDir puts the file's name on the disk. Not every file system can do that for
// a directory; the recording goes on without.
func syncDir(path string) {
	if dir, err := os.Open(path); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}
