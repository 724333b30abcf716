package target

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

// TestRefusedIsTold: a connection that the reverse port closes is not closed in
// silence.
func TestRefusedIsTold(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o := Options{Listen: filepath.Join(t.TempDir(), "port"), Clock: clock, Log: slog.New(slog.NewTextHandler(&log, nil))}
	w, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", o.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: localhost.localdomain\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // until it is closed, or reset
	w.Stop()
	if got := log.String(); strings.Count(got, "turned connections away") != 1 || !strings.Contains(got, "connections=1 so_far=1") {
		t.Errorf("the log does not say, once, that one was turned away:\n%s", got)
	}
}
