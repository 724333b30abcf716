package telemetry

import (
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/semconv"
)

const (
	// maxWords bounds the values that one attribute of one instrument has. Most
	// are of closed lists of ours, which are shorter. The others are words of
	// somebody else, such as the reasons of a runtime: the next version may have
	// more of them, and a broken stream any number.
	maxWords = 40
	// maxWordLength bounds each of them, in bytes: the name of a route is the longest.
	maxWordLength = MaxRouteLength
)

// otherError is what [OtherRoute] is to routes, by the registry for error.type.
const otherError = "_OTHER"

// words are the values that the attributes of an instrument have had. The zero
// value is ready.
type words struct {
	mu    sync.Mutex
	known map[attribute.Key]map[string]string // as they came, to as they are sent
}

// bound has the first maxWords values of each attribute told apart, and further
// ones be other. It changes all and returns it.
func (w *words) bound(all []attribute.KeyValue) []attribute.KeyValue {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range all {
		if a := &all[i]; a.Value.Type() == attribute.STRING {
			a.Value = attribute.StringValue(w.word(a.Key, a.Value.AsString()))
		}
	}
	return all
}

func (w *words) word(key attribute.Key, s string) string {
	if known, ok := w.known[key][s]; ok {
		return known
	}
	valid := strings.ToValidUTF8(s, "\uFFFD") // or else no exporter sends it
	if len(valid) > maxWordLength || len(w.known[key]) >= maxWords {
		return other(key)
	}
	if w.known == nil {
		w.known = make(map[attribute.Key]map[string]string)
	}
	if w.known[key] == nil {
		w.known[key] = make(map[string]string)
	}
	w.known[key][strings.Clone(s)] = strings.Clone(valid) // each may be a small part of something large
	return w.known[key][s]
}

// other returns what counts under no value of its own.
func other(key attribute.Key) string {
	if key == semconv.AttrErrorType {
		return otherError
	}
	return OtherRoute
}
