package dotnettest

import (
	"errors"
	"os"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc/azmcp"
)

// Options of a [Server].
type Options = azmcp.Options

// Response is one answer.
type Response = azmcp.Response

// Server is a running .NET process. What goes wrong with it fails the test.
type Server struct {
	TempDir string

	t testing.TB
	p *azmcp.Process
}

// Start starts a process. It ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.TempDir == "" {
		o.TempDir = tempDir(t)
	}
	p, err := azmcp.Start(o)
	if errors.Is(err, azmcp.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &Server{p.TempDir, t, p}
}

// tempDir outlives the process, with what that leaves behind. It is short.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// PID returns the number of the process. If Options.Wrap forks, it is the
// wrapper's.
func (s *Server) PID() int { return s.p.PID() }

// Initialize makes the server ready for requests. It is the first call, and
// takes seconds: the process compiles most of itself in it.
func (s *Server) Initialize() {
	s.t.Helper()
	if err := s.p.Initialize(); err != nil {
		s.t.Fatal(err)
	}
}

// Ping asks for the smallest answer.
func (s *Server) Ping() Response {
	s.t.Helper()
	r, err := s.p.Ping()
	return s.got(r, err)
}

// List asks for the list of tools; see [azmcp.Process.List].
func (s *Server) List(pad int) Response {
	s.t.Helper()
	r, err := s.p.List(pad)
	return s.got(r, err)
}

func (s *Server) got(r Response, err error) Response {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// Stop ends the process as its client would: by the end of its input.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.p.Stop(); err != nil {
		s.t.Error(err)
	}
}

// Kill ends the process with SIGKILL, which leaves its socket behind.
func (s *Server) Kill() { s.p.Kill() }
