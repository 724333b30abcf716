package recording

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// flushEvery is what a crash may cost.
const flushEvery = time.Second

// Writer appends to a recording. Its methods are for any goroutine, and none of
// them waits for the disk but Close.
type Writer struct {
	to file

	mu      sync.Mutex
	gaps    []probeGap
	records []Record
	pending map[int]int // of records, those of each target
	dropped uint64
	closed  bool
	err     error // of the disk: nothing is written after it

	quit, ended chan struct{}
	once        sync.Once
	buf, body   []byte // of the flushing goroutine
}

// probeGap is a gap that waits to be written.
type probeGap struct {
	probe int
	Gap
}

// file is what a recording is written to.
type file interface {
	io.WriteCloser
	Sync() error
}

// newWriter writes what comes first at once.
func newWriter(to file, e Environment) *Writer {
	w := &Writer{to: to, pending: make(map[int]int), quit: make(chan struct{}), ended: make(chan struct{})}
	w.buf = append(w.buf, Magic...)
	w.Add(e)
	w.flush()
	go w.run()
	return w
}

// Gap records a gap of a probe, by its ID.
func (w *Writer) Gap(probe int, g Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.gaps) == MaxPendingGaps || w.err != nil || w.closed {
		w.dropped++
		return
	}
	w.gaps = append(w.gaps, probeGap{probe, g})
}

// Add records anything else. It keeps r.
func (w *Writer) Add(r Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	target := targetOf(r)
	if len(w.records) == MaxPendingRecords || target != 0 && w.pending[target] == maxPendingOfTarget || w.err != nil || w.closed {
		w.dropped++
		return
	}
	w.records = append(w.records, r)
	if target != 0 {
		w.pending[target]++
	}
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
		w.leave()
		if err := w.to.Close(); err != nil {
			w.fail(err)
		}
	})
	return w.Err()
}

// leave counts what came too late.
func (w *Writer) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.dropped += uint64(len(w.gaps) + len(w.records))
	w.gaps, w.records = nil, nil
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

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = fmt.Errorf("write recording: %w", err)
	}
}

// flush writes what was added since the last one.
func (w *Writer) flush() {
	w.mu.Lock()
	gaps, records := w.gaps, w.records
	w.gaps, w.records = nil, nil
	clear(w.pending)
	w.mu.Unlock()
	count := uint64(len(gaps) + len(records))
	if w.Err() != nil {
		w.drop(count) // added while the write failed
		return
	}
	// A probe is told of before its first gap, and nothing behind the end.
	for _, r := range records {
		if r.kind() == KindEnd {
			w.appendGaps(gaps)
			gaps = nil
		}
		w.append(r)
	}
	w.appendGaps(gaps)
	if len(w.buf) == 0 {
		return
	}
	_, err := w.to.Write(w.buf)
	w.buf = w.buf[:0]
	if err == nil {
		err = w.to.Sync()
	}
	if err != nil {
		w.fail(err)
		w.drop(count)
	}
}

func (w *Writer) drop(n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped += n
}
