package e2e

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// truth is what a service's own execution trace says of its stops.
type truth struct {
	wallSpan // that it covers
	stops    []stopped
}

// stopped is a stop of the world.
type stopped struct {
	wallSpan // at most: as its own thread tells
	thread   uint64
	// surely is the longest time in it in which no other thread did anything: after the
	// stop a thread may have to wait for a CPU.
	surely wallSpan
	asked  bool // the test asked for it
}

// long reports whether the test asked for it, and it was long enough to be looked for. How
// long one of a collection was the trace does not tell where the machine is busy.
func (s *stopped) long() bool { return s.asked && s.surely.end-s.surely.start >= int64(hit) }

// long returns how many stops are.
func (v *truth) long() (n int) {
	for i := range v.stops {
		if v.stops[i].long() {
			n++
		}
	}
	return n
}

// holds reports whether a span lies in the trace.
func (v *truth) holds(s wallSpan) bool { return v.start <= s.start && s.end <= v.end }

// overlap returns for how long a span was stopped by long stops for sure, and by all at
// most.
func (v *truth) overlap(of wallSpan) (sure, most time.Duration) {
	within := func(s wallSpan) time.Duration {
		return time.Duration(max(0, min(s.end, of.end)-max(s.start, of.start)))
	}
	for i := range v.stops {
		s := &v.stops[i]
		if most += within(s.wallSpan); s.long() {
			sure += within(s.surely)
		}
	}
	return sure, most
}

// moved is a lie: the same stops, at another time.
func moved(all []truth, by time.Duration) (lies []truth) {
	move := func(s wallSpan) wallSpan { return wallSpan{s.start + int64(by), s.end + int64(by)} }
	for _, v := range all {
		lie := truth{wallSpan: v.wallSpan}
		for _, s := range v.stops {
			lie.stops = append(lie.stops, stopped{move(s.wallSpan), s.thread, move(s.surely), s.asked})
		}
		lies = append(lies, lie)
	}
	return lies
}

// trace takes a trace of two seconds from the service itself, as soon as nobody else does,
// and reads it by Go's own tool.
func (r *replica) trace(t *testing.T) (v truth) {
	var text string
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var err error
		if text, err = get(r.debug + "trace?seconds=2"); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Errorf("no trace of %s: %v", r.pod, err)
			return v
		}
	}
	file := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Error(err)
		return v
	}
	cmd := exec.Command("go", "tool", "trace", "-d=wire", file)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		v, err = readTruth(bufio.NewScanner(out))
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil || v.start == 0 || v.end <= v.start {
		t.Errorf("the trace of %s says %+v: %v", r.pod, v, err)
	}
	return v
}

// The reasons of stops that are told apart.
const (
	ofTheTrace = "start trace"
	ofTheTest  = "all goroutines stack trace"
)

// nobody is the thread of what no thread wrote.
const nobody = 1<<64 - 1

// wire is a trace, as far as its lines were read. Each generation has its own clock, and
// its own numbers of texts.
type wire struct {
	truth
	thread uint64
	at     int64 // ticks of CLOCK_MONOTONIC
	tick   int64 // ns
	offset int64 // of wall time
	id     uint64
	kinds  map[uint64][]int // stops whose reason has that number
	begun  map[uint64]begun // by thread
	does   []deed
}

type begun struct {
	at   int64
	kind uint64
}

// deed is when a thread did something that a trace tells.
type deed struct {
	at     int64
	thread uint64
}

// readTruth reads what `go tool trace -d=wire` prints: the events as each thread wrote them.
// The trace covers all from the end of the stop that began it.
func readTruth(lines *bufio.Scanner) (truth, error) {
	w := wire{kinds: map[uint64][]int{}, begun: map[uint64]begun{}}
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := w.line(lines.Text()); err != nil {
			return w.truth, fmt.Errorf("%q: %w", lines.Text(), err)
		}
	}
	slices.SortFunc(w.does, func(a, b deed) int { return cmp.Compare(a.at, b.at) })
	for i := range w.stops {
		w.narrow(&w.stops[i])
	}
	w.stops = slices.DeleteFunc(w.stops, func(s stopped) bool { return s.start < w.start })
	return w.truth, lines.Err()
}

func (w *wire) line(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	var f [4]uint64 // fields
	for i, word := range strings.Fields(rest) {
		_, value, found := strings.Cut(word, "=")
		if !found || i == len(f) {
			break
		}
		f[i], _ = strconv.ParseUint(value, 10, 64) // what is no number is not asked for
	}
	switch {
	case kind == "EventBatch": // generation, thread, time
		w.thread, w.at = f[1], int64(f[2])
	case kind == "Frequency":
		w.tick = int64(time.Second) / int64(f[0])
		clear(w.kinds)
	case kind == "ClockSnapshot": // since the last, monotonic, seconds, and ns
		w.offset = int64(f[2])*int64(time.Second) + int64(f[3]) - int64(f[1])
	case kind == "String":
		w.id = f[0]
	case strings.HasPrefix(line, "\tdata="):
		text, err := strconv.Unquote(strings.TrimPrefix(line, "\tdata="))
		w.reason(text)
		return err
	case w.thread != nobody && strings.HasPrefix(rest, "dt="):
		w.at += int64(f[0])
		w.event(kind, f[1], w.at*w.tick+w.offset)
	}
	return nil
}

func (w *wire) event(kind string, argument uint64, at int64) {
	w.end = max(w.end, at)
	w.does = append(w.does, deed{at, w.thread})
	switch b, open := w.begun[w.thread]; {
	case kind == "STWBegin":
		w.begun[w.thread] = begun{at, argument}
	case kind == "STWEnd" && open:
		delete(w.begun, w.thread)
		w.kinds[b.kind] = append(w.kinds[b.kind], len(w.stops))
		w.stops = append(w.stops, stopped{wallSpan: wallSpan{b.at, at}, thread: w.thread})
	}
}

// reason takes in the next text of the generation: texts come last.
func (w *wire) reason(text string) {
	for _, i := range w.kinds[w.id] {
		switch s := &w.stops[i]; text {
		case ofTheTrace:
			w.start = s.end
		case ofTheTest:
			s.asked = true
		}
	}
}

// narrow finds what a stop was surely.
func (w *wire) narrow(s *stopped) {
	first, _ := slices.BinarySearchFunc(w.does, s.start, func(d deed, at int64) int { return cmp.Compare(d.at, at) })
	last := s.start
	for _, d := range w.does[first:] {
		at := min(d.at, s.end)
		if d.thread == s.thread && at < s.end {
			continue
		}
		if at-last > s.surely.end-s.surely.start {
			s.surely = wallSpan{last, at}
		}
		if last = at; at == s.end {
			return
		}
	}
}
