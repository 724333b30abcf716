package exact

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

const (
	testHeader = "go 1.26 trace\x00\x00\x00"
	endMark    = "\x37" // any single byte ends a generation
)

func write(t testing.TB, s *stream, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if n, err := s.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("Write of %d bytes: got %d, %v", len(p), n, err)
		}
	}
}

// newStream returns a stream that shares its memory with no other.
func newStream(clock stall.Clock) *stream { return newStreamIn(clock, newFree()) }

func TestStreamIsReadAsWritten(t *testing.T) {
	s := newStream(testClock(t))
	write(t, s, testHeader, "one batch", "another", endMark, "third", endMark, "never ended")
	s.close()
	got, err := io.ReadAll(&streamReader{s: s})
	if err != nil {
		t.Fatal(err)
	}
	want := testHeader + "one batchanother" + endMark + "third" + endMark
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	write(t, s, "after the end", endMark)
	if n := s.lost(); n != 0 {
		t.Errorf("dropped %d generations, want 0", n)
	}
}

// TestStreamHeaderComesAlone: a version that is not known is found out before
// the first generation is over.
func TestStreamHeaderComesAlone(t *testing.T) {
	s := newStream(testClock(t))
	write(t, s, testHeader, "a batch")
	buf := make([]byte, 100)
	n, err := (&streamReader{s: s}).Read(buf)
	if got := string(buf[:n]); got != testHeader || err != nil {
		t.Errorf("first Read: got %q, %v, want the header", got, err)
	}
}

func TestStreamIsOpenWithinAGeneration(t *testing.T) {
	s := newStream(testClock(t))
	for _, c := range []struct {
		write string
		open  bool
	}{{testHeader, true}, {"batch", true}, {endMark, false}, {"sync", true}, {"batch", true}, {endMark, false}} {
		write(t, s, c.write)
		if got := s.open(); got != c.open {
			t.Errorf("open after %q: got %v, want %v", c.write, got, c.open)
		}
	}
	s.close()
	write(t, s, "given up, but written to")
	if !s.open() {
		t.Error("a closed stream that is written to is not known to be open: it would never be reclaimed")
	}
}

// TestStreamDropsWholeGenerations: when nobody reads, Write goes on, what is
// kept is whole and the oldest, and what is not is counted.
func TestStreamDropsWholeGenerations(t *testing.T) {
	s := newStream(testClock(t))
	write(t, s, testHeader)
	r := &streamReader{s: s}
	buf := make([]byte, len(testHeader))
	if _, err := io.ReadFull(r, buf); err != nil {
		t.Fatal(err)
	}
	const generations = 10
	for i := range generations {
		write(t, s, strings.Repeat(string(rune('a'+i)), 1000), endMark)
	}
	if got, want := s.lost(), uint64(generations-maxGenerations); got != want {
		t.Errorf("dropped: got %d generations, want %d", got, want)
	}
	s.close()
	got, _ := io.ReadAll(r)
	want := ""
	for i := range maxGenerations {
		want += strings.Repeat(string(rune('a'+i)), 1000) + endMark
	}
	if string(got) != want {
		t.Errorf("kept %d bytes, want the %d of the first %d generations", len(got), len(want), maxGenerations)
	}
}

func TestStreamDropsAGenerationTooLong(t *testing.T) {
	s := newStream(testClock(t))
	write(t, s, testHeader)
	batch := bytes.Repeat([]byte{'x'}, 64<<10)
	for range maxGenerationBytes/len(batch) + 10 {
		if _, err := s.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.current) > maxGenerationBytes {
		t.Errorf("holds %d bytes of one generation, the limit is %d", len(s.current), maxGenerationBytes)
	}
	write(t, s, endMark, "short", endMark)
	if got := s.lost(); got != 1 {
		t.Errorf("dropped: got %d generations, want 1", got)
	}
	s.close()
	got, _ := io.ReadAll(&streamReader{s: s})
	if want := testHeader + "short" + endMark; string(got) != want {
		t.Errorf("read %d bytes, want the short generation", len(got))
	}
}

// TestStreamUsesMemoryAgain: with a reader that keeps up, generations of one
// size do not allocate.
func TestStreamUsesMemoryAgain(t *testing.T) {
	s := newStream(testClock(t))
	r := &streamReader{s: s}
	batch, end := bytes.Repeat([]byte{'x'}, 4096), []byte(endMark)
	buf := make([]byte, 8192)
	turn := func() {
		_, _ = s.Write(batch)
		_, _ = s.Write(end)
		for n := 0; n <= len(batch); {
			k, err := r.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
	}
	for range 10 {
		turn()
	}
	if got := testing.AllocsPerRun(100, turn); got > 0 {
		t.Errorf("%v allocations for a generation, want 0", got)
	}
}

// TestStreamRace has all that may touch a stream do so at once, for the race
// detector, and for a send on a closed channel.
func TestStreamRace(t *testing.T) {
	for range 20 {
		s := newStream(testClock(t))
		var wg sync.WaitGroup
		wg.Go(func() {
			write(t, s, testHeader)
			for range 200 {
				write(t, s, "batch", endMark)
			}
		})
		wg.Go(func() { _, _ = io.Copy(io.Discard, &streamReader{s: s}) })
		for range 3 {
			wg.Go(func() {
				if tapped, ok := s.tap(0); ok {
					<-tapped.out
					s.untap(tapped)
				}
			})
		}
		wg.Go(func() {
			time.Sleep(time.Millisecond)
			s.close()
			_, _, _ = s.open(), s.silence(), s.lost()
		})
		wg.Wait()
	}
}
