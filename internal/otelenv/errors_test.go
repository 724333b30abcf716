package otelenv

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestErrorsAreLoggedRarely: the longer a Collector is dead, the less is said of it.
func TestErrorsAreLoggedRarely(t *testing.T) {
	var b bytes.Buffer
	c := NewErrorHandler(slog.New(slog.NewTextHandler(&b, nil)))
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return now }
	lines := func(d time.Duration) int {
		b.Reset()
		for end := now.Add(d); now.Before(end); now = now.Add(time.Second) {
			c.Handle(errors.New("connection refused:\ncollector"))
		}
		return strings.Count(b.String(), "\n")
	}
	if n := lines(10 * time.Second); n != 1 || !strings.Contains(b.String(), "refused:; collector") || !strings.Contains(b.String(), "OTEL_METRICS_EXPORTER=none") {
		t.Errorf("10 errors in 10 s made %d lines, want one with the mend: %s", n, b.String())
	}
	if n := lines(8 * time.Hour); n < 8*6 || n > 8*6+10 || strings.Contains(b.String(), "hint=") {
		t.Errorf("a night made %d lines, want about 6 an hour, and not the mend in each", n)
	}
	now = now.Add(time.Hour) // it was well for so long
	if n := lines(11 * time.Second); n != 2 || !strings.Contains(b.String(), "hint=") {
		t.Errorf("a new trouble made %d lines in 11 s, want 2 and the mend: %s", n, b.String())
	}
	c.Mute(true)
	if n := lines(time.Hour); n != 0 {
		t.Errorf("%d lines after the end, want none", n)
	}
}

// TestErrorsOfEachKind: one trouble does not keep another from being told, and
// every kind has its own hint.
func TestErrorsOfEachKind(t *testing.T) {
	var b bytes.Buffer
	c := NewErrorHandler(slog.New(slog.NewTextHandler(&b, nil)))
	for range 100 {
		c.Handle(errors.New("connection refused"))
		c.Handle(errors.New("rpc error: code = PermissionDenied"))
		c.Handle(errors.New("deadline exceeded")) // of the first kind
		c.Handle(errors.New("who knows"))
	}
	if n := strings.Count(b.String(), "\n"); n != 3 {
		t.Errorf("%d lines for three kinds of trouble, want one each:\n%s", n, b.String())
	}
	for _, want := range []string{"start a Collector", "OTEL_EXPORTER_OTLP_HEADERS", "who knows"} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("%q is not in one of the lines:\n%s", want, b.String())
		}
	}
	c.Mute(true)
	c.Handle(errors.New("404 Not Found"))
	if strings.Contains(b.String(), "404") {
		t.Errorf("an error after the end:\n%s", b.String())
	}
}

// TestHintOf: a Collector that answers in another way than it is asked is not one
// that has to be started, and a setting is mended where it was made.
func TestHintOf(t *testing.T) {
	for text, want := range map[string]string{
		"authentication handshake failed: tls: first record does not look like a TLS handshake":           "http://",
		`Post "https://localhost:4318/v1/logs": http: server gave HTTP response to HTTPS client`:          "http://",
		"authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by": "OTEL_EXPORTER_OTLP_CERTIFICATE",
		"dial tcp 127.0.0.1:4317: connect: connection refused":                                            "start a Collector",
		"context deadline exceeded": "start a Collector",
		"rpc error: code = Unavailable desc = name resolver error: produced zero addresses":                         "resolver",
		"invalid OTEL_EXPORTER_OTLP_TIMEOUT value abc: strconv.Atoi: parsing \"abc\": invalid syntax":               "correct it",
		"failed to load TLS: open /nope: no such file or directory":                                                 "can be read",
		"HTTP/1.x transport connection broken: malformed HTTP response \"\\x00\\x00\\x06\"":                         "PROTOCOL=grpc",
		"code = Unavailable desc = connection error: desc = \"error reading server preface: http2: frame too large": "PROTOCOL=http/protobuf",
		"failed to send logs to http://127.0.0.1:18080/v1/logs: 404 Not Found":                                      "takes no OTLP",
		"rpc error: code = PermissionDenied desc = no":                                                              "HEADERS",
		"rpc error: code = ResourceExhausted desc = too much":                                                       "", // who knows
	} {
		if got := hintOf(errors.New(text)); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q in it", text, got, want)
		}
	}
}
