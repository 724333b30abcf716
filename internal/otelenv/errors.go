package otelenv

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// The time between two lines of one kind begins at the first of these and doubles up
// to the second: a Collector that is dead for a night must not fill the log.
const (
	logFirst = 10 * time.Second
	logLast  = 10 * time.Minute
)

// ErrorHandler handles the errors of the OpenTelemetry SDK, which come several times a
// second while a Collector is dead. It logs one line for each kind of trouble, with
// what to do about it, and another now and then while that goes on.
type ErrorHandler struct {
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex
	troubles map[string]*trouble // by hint: so many there are, and one without
	muted    bool
}

// trouble is one kind of errors.
type trouble struct {
	logged time.Time
	wait   time.Duration // until it is logged again
	left   int           // were not logged since
}

// NewErrorHandler returns a handler that logs to log.
func NewErrorHandler(log *slog.Logger) *ErrorHandler {
	return &ErrorHandler{log: log, now: time.Now, troubles: make(map[string]*trouble)}
}

// Handle logs err, or counts it if another of its kind was logged of late. What comes
// after a while without any is a new trouble.
func (h *ErrorHandler) Handle(err error) {
	hint := hintOf(err)
	left, first, due := h.due(hint)
	if !due {
		return
	}
	facts := []any{"error", oneLine(err).Error(), "not_logged", left}
	if hint != "" && first {
		facts = append(facts, "hint", hint)
	}
	h.log.Warn("export", facts...)
}

// due reports whether an error of a kind is to be logged, whether as the first of a
// trouble, and how many were not since the last that was.
func (h *ErrorHandler) due(hint string) (left int, first, due bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, k := h.now(), h.troubles[hint]
	if k == nil || now.Sub(k.logged) > k.wait+logLast {
		k = new(trouble)
		h.troubles[hint] = k
	}
	if h.muted || now.Sub(k.logged) < k.wait {
		k.left++
		return 0, false, false
	}
	left, first = k.left, k.wait == 0
	*k = trouble{logged: now, wait: min(max(logFirst, 2*k.wait), logLast)}
	return left, first, true
}

// Mute has nothing logged from now on, while the providers are being shut down: their
// error says what they could not do.
func (h *ErrorHandler) Mute(muted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.muted = muted
}

// Install makes h the global handler of errors, unless the program has set one of its
// own. It returns the ErrorHandler that handles them now, nil for the program's.
func (h *ErrorHandler) Install() *ErrorHandler {
	global := otel.GetErrorHandler()
	if before, ok := global.(*ErrorHandler); ok { // of a Start before this one
		return before
	}
	// The type of the handler of a program that has set none cannot be named in code.
	if fmt.Sprintf("%T", global) != "*errorhandler.ErrDelegator" {
		return nil
	}
	otel.SetErrorHandler(h)
	return h
}

// hints say what to do about an error of an exporter, or of its settings, by its text;
// the first that is in it holds. An error without one has none: it would be a guess.
var hints = []struct{ text, hint string }{
	{"does not look like a TLS handshake", noTLS},
	{"HTTP response to HTTPS client", noTLS},
	{"x509: ", "name the file with the CA of the Collector in OTEL_EXPORTER_OTLP_CERTIFICATE"},
	{"failed to load TLS", "name files that can be read in OTEL_EXPORTER_OTLP_CERTIFICATE, _CLIENT_CERTIFICATE and _CLIENT_KEY: without them the settings do not hold"},
	{"invalid OTEL_", "correct it, or unset it: it does not hold"},
	{"malformed HTTP response", "what answers there speaks no HTTP/1: name the Collector's port for OTLP over HTTP (4318), or set OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
	{"error reading server preface", "what answers there speaks no gRPC: name the Collector's port for gRPC (4317), or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"},
	{"404 ", "what answers there takes no OTLP at this path: name the Collector in OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"405 ", "what answers there takes no OTLP: name the Collector in OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"501 ", "what answers there takes no OTLP: name the Collector in OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"401 ", credentials}, {"403 ", credentials}, {"Unauthenticated", credentials}, {"PermissionDenied", credentials},
	{"no such host", noHost}, {"produced zero addresses", noHost},
	{"connection refused", noCollector}, {"deadline exceeded", noCollector}, {"timeout", noCollector},
	{"Unavailable", noCollector}, {"no route to host", noCollector}, {"network is unreachable", noCollector},
}

const (
	noTLS       = "the Collector speaks no TLS: have OTEL_EXPORTER_OTLP_ENDPOINT begin with http://"
	credentials = "the Collector wants credentials: give them in OTEL_EXPORTER_OTLP_HEADERS"
	noHost      = "name a host in OTEL_EXPORTER_OTLP_ENDPOINT that the resolver knows"
	noCollector = "start a Collector at OTEL_EXPORTER_OTLP_ENDPOINT, or run without one: OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none OTEL_TRACES_EXPORTER=none"
)

// hintOf says what to do about an error, empty where that is not known.
func hintOf(err error) string {
	text := err.Error()
	for _, h := range hints {
		if strings.Contains(text, h.text) {
			return h.hint
		}
	}
	return ""
}
