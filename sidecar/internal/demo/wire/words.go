package wire

import (
	"encoding/json"
	"fmt"

	"github.com/otelgc/otelgc/sidecar/internal/slowed"
)

// Hello is the first frame: the service is ready for requests.
type Hello struct {
	Address    string `json:"address"` // host:port on the loopback interface
	GoVersion  string `json:"go_version"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	ProbeMode  string `json:"probe_mode"`           // of the probe in the process
	ProbeNote  string `json:"probe_note,omitempty"` // why it is not the mode that was asked for
	LiveHeap   uint64 `json:"live_heap"`            // bytes, as built
}

// Farewell is the last frame, read after the load has settled.
type Farewell struct {
	// RuntimeCycles is the difference of /gc/cycles/total:gc-cycles since the
	// monitor was started, Collections the monitor's own count.
	RuntimeCycles uint64 `json:"runtime_cycles"`
	Collections   uint64 `json:"collections"`
	PauseNanos    int64  `json:"pause_ns"` // sum of all pauses
	// Slowed are the collections that the machine made pause long.
	Slowed slowed.Tally `json:"slowed,omitzero"`
	// Lost is the number of collections and suspensions that were dropped before
	// they could be handed on.
	Lost   uint64   `json:"lost,omitempty"`
	Forced uint64   `json:"forced,omitempty"` // stops or cycles that the injection caused
	Notes  []string `json:"notes,omitempty"`  // what did not go as it should, for the reader
}

// Hello writes h.
func (w *Writer) Hello(h *Hello) error { return w.json(KindHello, h) }

// Farewell writes f.
func (w *Writer) Farewell(f *Farewell) error { return w.json(KindFarewell, f) }

// longestFailure bounds the text of a failure, in bytes.
const longestFailure = 4096

// Failure writes why the service ends before its time.
func (w *Writer) Failure(err error) error {
	text := err.Error()
	return w.write(KindFailure, func(b []byte) []byte { return append(b, text[:min(len(text), longestFailure)]...) })
}

func (w *Writer) json(k Kind, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode frame %q: %w", k, err)
	}
	return w.write(k, func(b []byte) []byte { return append(b, text...) })
}

// DecodeHello decodes the payload of a frame of KindHello.
func DecodeHello(b []byte) (Hello, error) {
	var h Hello
	if err := json.Unmarshal(b, &h); err != nil {
		return h, fmt.Errorf("decode frame %q: %w", KindHello, err)
	}
	return h, nil
}

// DecodeFarewell decodes the payload of a frame of KindFarewell.
func DecodeFarewell(b []byte) (Farewell, error) {
	var f Farewell
	if err := json.Unmarshal(b, &f); err != nil {
		return f, fmt.Errorf("decode frame %q: %w", KindFarewell, err)
	}
	return f, nil
}
