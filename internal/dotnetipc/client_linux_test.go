package dotnetipc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestProcessInfoFallsBack asks runtimes of three ages.
func TestProcessInfoFallsBack(t *testing.T) {
	for _, knows := range []command{processInfo3, processInfo2, processInfo} {
		f := newFake(t, func(conn net.Conn, c command, _ []byte) {
			if c > knows {
				refuse(conn, UnknownCommand)
				return
			}
			ok(conn, infoPayload(c))
		})
		got, err := f.client().ProcessInfo(background(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantInfo(knows), got); diff != "" {
			t.Errorf("runtime that knows %v (-want +got):\n%s", knows, diff)
		}
	}
}

func TestCollectFallsBack(t *testing.T) {
	q := Request{Providers: []Provider{{Name: "P"}}}
	for version, knows := range map[int]command{5: collectTracing5, 4: collectTracing4, 3: collectTracing3, 2: collectTracing2, 1: 0x0202} {
		f := newFake(t, func(conn net.Conn, c command, _ []byte) {
			if c > knows {
				refuse(conn, UnknownCommand)
				return
			}
			ok(conn, binary.LittleEndian.AppendUint64(nil, 99))
		})
		s, err := f.client().Collect(background(t), q)
		if version == 1 {
			if !errors.Is(err, UnknownCommand) || len(f.asked()) != 4 {
				t.Errorf("a runtime that knows none: got %v after %v", err, f.asked())
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.Version != version || s.ID != 99 {
			t.Errorf("got version %d, id %d, want %d, 99", s.Version, s.ID, version)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFaults: every way in which a runtime does not answer has its own error,
// on one line, in time.
func TestFaults(t *testing.T) {
	half, _ := encode(replyOK, infoPayload(processInfo3))
	for _, c := range []struct {
		name   string
		answer answerFunc
		is     error
		text   string
	}{
		{"silent", func(conn net.Conn, _ command, _ []byte) { _, _ = io.Copy(io.Discard, conn) }, ErrNoAnswer, "a debugger holds the process"},
		{"half an answer", func(conn net.Conn, _ command, _ []byte) {
			_, _ = conn.Write(half[:40])
			_, _ = io.Copy(io.Discard, conn)
		}, ErrNoAnswer, "within 250ms"},
		{"closed in the middle", func(conn net.Conn, _ command, _ []byte) { _, _ = conn.Write(half[:40]) }, io.ErrUnexpectedEOF, "read payload"},
		{"closed at once", func(net.Conn, command, []byte) {}, io.EOF, "read header"},
		{"another protocol", func(conn net.Conn, _ command, _ []byte) {
			_, _ = io.WriteString(conn, strings.Repeat("no .NET here ", 3))
		}, nil, "not a .NET runtime"},
		{"bad encoding", func(conn net.Conn, _ command, _ []byte) { refuse(conn, BadEncoding) }, BadEncoding, "cannot read the command (0x80131384)"},
		{"short answer", func(conn net.Conn, _ command, _ []byte) { ok(conn, []byte{1}) }, io.ErrUnexpectedEOF, "payload of 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := newFake(t, c.answer).client()
			if c.is == ErrNoAnswer {
				client.Timeout = soon
			}
			_, err := client.ProcessInfo(background(t))
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %v", err, c.is)
			}
			if text := oneLine(t, err); !strings.Contains(text, c.text) {
				t.Errorf("got %q, want %q in it", text, c.text)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	got := make(chan struct{})
	f := newFake(t, func(conn net.Conn, _ command, _ []byte) {
		close(got)
		_, _ = io.Copy(io.Discard, conn)
	})
	ctx, cancel := context.WithCancel(background(t))
	go func() {
		<-got
		cancel()
	}()
	c := f.client()
	c.Timeout = time.Hour
	if _, err := c.ProcessInfo(ctx); err == nil {
		t.Error("a cancelled command: got no error")
	}
}

func TestBusy(t *testing.T) {
	f := newFake(t, func(conn net.Conn, _ command, _ []byte) { refuse(conn, Fail) })
	_, err := f.client().Collect(background(t), Request{Providers: []Provider{{Name: "P"}}})
	if !errors.Is(err, ErrBusy) || !strings.Contains(oneLine(t, err), "end other tools") {
		t.Errorf("got %v, want ErrBusy and the mend", err)
	}
	if asked := f.asked(); len(asked) != 1 {
		t.Errorf("asked %v, want once: an older command makes no room", asked)
	}
}

// TestStop keeps reading while it stops, and reads the end of the stream.
func TestStop(t *testing.T) {
	f := newFake(t, newStreamer().answer)
	s, err := f.client().Collect(background(t), Request{Providers: []Provider{{Name: "P"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	first := make([]byte, len(streamed))
	if _, err := io.ReadFull(s, first); err != nil || string(first) != streamed {
		t.Fatalf("got %q, %v, want %q", first, err, streamed)
	}
	// Nothing more comes until Stop: a reader is told so.
	if err := s.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Read(first); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read of a quiet stream: got %d, %v", n, err)
	}
	if err := s.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	rest := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(s)
		rest <- string(b)
	}()
	if err := s.Stop(background(t)); err != nil {
		t.Fatal(err)
	}
	if got := <-rest; got != tail {
		t.Errorf("end of the stream: got %q, want %q", got, tail)
	}
}

// TestStopInTime: a runtime that cannot end the stream does not hold us up.
func TestStopInTime(t *testing.T) {
	f := newFake(t, func(conn net.Conn, c command, _ []byte) {
		if c == collectTracing5 {
			ok(conn, make([]byte, 8))
		}
		_, _ = io.Copy(io.Discard, conn)
	})
	client := f.client()
	s, err := client.Collect(background(t), Request{Providers: []Provider{{Name: "P"}}})
	if err != nil {
		t.Fatal(err)
	}
	client.Timeout = soon
	if err := s.Stop(background(t)); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("got %v, want ErrNoAnswer", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
