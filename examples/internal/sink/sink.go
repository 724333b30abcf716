// Package sink is a Collector for the tests of the examples, which keeps what it
// is sent as it comes.
package sink

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
)

// Sink receives OTLP over gRPC, of all signals, and answers that it has taken
// all. Names and texts stand in the messages as they are.
type Sink struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// New starts a sink on the loopback interface, and has the environment of the
// test export to it, soon. It ends with the test.
func New(t *testing.T) *Sink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := new(Sink)
	server := grpc.NewServer(grpc.ForceServerCodec(asTheyCome{}), grpc.UnknownServiceHandler(s.take))
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { server.Stop(); served.Wait() })
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	for _, delay := range []string{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BLRP_SCHEDULE_DELAY"} {
		t.Setenv(delay, "100") // ms
	}
	return s
}

func (s *Sink) take(_ any, call grpc.ServerStream) error {
	var m message
	if err := call.RecvMsg(&m); err != nil {
		return err
	}
	s.mu.Lock()
	s.all.Write(m)
	s.mu.Unlock()
	return call.SendMsg(new(message)) // empty: nothing was rejected
}

// lacks returns the first of the texts that has not come, or "".
func (s *Sink) lacks(texts []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if !bytes.Contains(s.all.Bytes(), []byte(text)) {
			return text
		}
	}
	return ""
}

// Wait waits until all of the texts have come.
func (s *Sink) Wait(t *testing.T, texts ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); s.lacks(texts) != ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q was exported in a minute", s.lacks(texts))
		}
	}
}

// message is one that nobody decodes.
type message []byte

type asTheyCome struct{}

func (asTheyCome) Name() string                  { return "as they come" }
func (asTheyCome) Marshal(v any) ([]byte, error) { return *v.(*message), nil }
func (asTheyCome) Unmarshal(data []byte, v any) error {
	*v.(*message) = bytes.Clone(data)
	return nil
}

// Listening calls start, and returns the address that it then prints to standard
// output that it listens on.
func Listening(t *testing.T, start func()) (addr string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	t.Cleanup(func() { os.Stdout = stdout; _, _ = r.Close(), w.Close() })
	os.Stdout = w
	start()
	line, err := bufio.NewReader(r).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("printed %q, %v, want where it listens", line, err)
	}
	return addr
}
