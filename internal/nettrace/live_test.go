package nettrace_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
)

// pieces is a stream that arrives in pieces, with a timeout after each.
type pieces struct {
	list  [][]byte
	pause bool
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.pause || len(p.list) == 0 {
		p.pause = false
		if len(p.list) == 0 {
			return 0, io.EOF
		}
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(b, p.list[0])
	if p.list[0] = p.list[0][n:]; len(p.list[0]) == 0 {
		p.list, p.pause = p.list[1:], true
	}
	return n, nil
}

// TestTimeout hands out what is held when nothing arrives, goes on afterwards,
// and counts what comes too late for its place.
func TestTimeout(t *testing.T) {
	for name, o := range formats {
		t.Run(name, func(t *testing.T) {
			w := nettracetest.New(o)
			head := len(w.Bytes())
			w.Events(at(10, 1, false), at(12, 1, false), at(11, 2, false))
			first := len(w.Bytes())
			w.Events(at(9, 3, false), at(13, 1, false))
			w.End()
			b := w.Bytes()
			middle := first + (len(b)-first)/2
			stream := &pieces{list: [][]byte{b[:head], b[head:first], b[first:middle], b[middle:]}}
			r, err := nettrace.NewReader(stream, nettrace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			// 0 is a timeout.
			var got []uint64
			for {
				e, err := r.Next()
				if errors.Is(err, os.ErrDeadlineExceeded) {
					got = append(got, 0)
					continue
				}
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, uint64(e.Ticks))
			}
			if diff := cmp.Diff([]uint64{0, 10, 11, 12, 0, 0, 9, 13}, got); diff != "" || r.Stats().Late != 1 {
				t.Errorf("%+v (-want +got):\n%s", r.Stats(), diff)
			}
		})
	}
}

// TestSocket reads from a real connection with a read deadline.
func TestSocket(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := nettracetest.New(nettracetest.Options{})
	w.Events(at(10, 1, false))
	served, done := make(chan error, 1), make(chan struct{})
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = conn.Write(w.Bytes())
			defer conn.Close()
		}
		served <- err
		<-done
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r, err := nettrace.NewReader(conn, nettrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	events := 0
	for timeouts := 0; timeouts < 2; {
		if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		e, err := r.Next()
		var timeout net.Error
		switch {
		case err == nil && e.Ticks == 10:
			events++
		case errors.As(err, &timeout) && timeout.Timeout():
			if events == 1 {
				timeouts++
			}
		default:
			t.Fatalf("got %+v, %v", e, err)
		}
	}
	if events != 1 {
		t.Errorf("got %d events, want 1", events)
	}
	close(done)
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v after the process ended, want an unexpected EOF", err)
	}
}

// TestTimeoutInTheHeader is returned as it is.
func TestTimeoutInTheHeader(t *testing.T) {
	b := nettracetest.New(nettracetest.Options{}).Bytes()
	_, err := nettrace.NewReader(&pieces{list: [][]byte{b[:30], b[30:]}}, nettrace.Options{})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want the timeout", err)
	}
}

// TestReadError passes the error of the reader on, with its place, after all
// that came before it.
func TestReadError(t *testing.T) {
	w := nettracetest.New(nettracetest.Options{})
	w.Events(at(10, 1, false))
	reset := errors.New("connection reset")
	b := w.Bytes()
	r, err := nettrace.NewReader(io.MultiReader(bytes.NewReader(b), failing{reset}), nettrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := readAll(t, r)
	var place *nettrace.Error
	if len(list) != 1 || !errors.Is(err, reset) || !errors.As(err, &place) || place.Offset != int64(len(b)) {
		t.Errorf("got %d events and %v", len(list), err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }
