package capturefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// captured is a request that a monitor has kept.
const captured = "testdata/go1.26.8.json"

func readCaptured(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(captured)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRead: what was kept is read whole, and written again the same.
func TestRead(t *testing.T) {
	text := readCaptured(t)
	if !bytes.HasPrefix(text, []byte(Magic)) {
		t.Errorf("it begins with %.40s, want %s", text, Magic)
	}
	d, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(text)), string(again)); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
	drawn := d.Strip()
	var sum time.Duration
	for _, x := range drawn.Times() {
		sum += x.Time
	}
	if sum != d.Request.Duration || drawn.Span() != d.Request.Span || len(drawn.Collections) == 0 || len(drawn.Stops) == 0 || drawn.Gaps != nil {
		t.Errorf("drawn as %v of %v, %d collections, %d stops, gaps %v", sum, drawn.Span(), len(drawn.Collections), len(drawn.Stops), drawn.Gaps)
	}
}

// TestReadDamaged: what does not fit together is refused in one line that says where.
func TestReadDamaged(t *testing.T) {
	text := string(readCaptured(t))
	for name, c := range map[string]struct{ text, want string }{
		"cut off":         {text[:len(text)/2], fmt.Sprintf("at byte %d: unexpected EOF", len(text)/2)},
		"no JSON":         {Magic + "1\" oops", "at byte 30: invalid character 'o'"},
		"another version": {strings.Replace(text, Schema, "otelgc.capture/9", 1), `schema "otelgc.capture/9"`},
		"unknown owner":   {strings.Replace(text, `"part":"app"`, `"part":"me"`, 1), `parse cause "me"`},
		"longer":          {strings.Replace(text, `"duration":`, `"duration":1`, 1), "duration 1"},
		"a hole":          {strings.Replace(text, `"pieces":[{"start":`, `"pieces":[{"start":1`, 1), "piece 0 from 1"},
		"median":          {strings.Replace(text, `"median":{"start":`, `"median":{"start":1`, 1), "median: duration"},
		"another share":   {strings.Replace(text, `"gc.assist":`, `"gc.assist":1`, 1), "share of gc.assist"},
		"too long":        {Magic + strings.Repeat(" ", maxBytes), "more than"},
		"empty":           {"", "decode capture at byte 0"},
	} {
		_, err := Read(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, c.want)
		}
	}
}

// FuzzRead: what is read can be drawn, its pieces fill it, and it is written and read again
// the same.
func FuzzRead(f *testing.F) {
	f.Add(readCaptured(f))
	f.Add([]byte(Magic + `1","request":{"start":1,"end":3,"duration":2,"share":{"app":2},"pieces":[{"start":1,"end":3,"part":"app"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		drawn := d.Strip()
		if len(drawn.Pieces) > 0 && drawn.Span() != d.Request.Span {
			t.Errorf("pieces of %v, want %v", drawn.Span(), d.Request.Span)
		}
		var sum time.Duration
		for _, x := range drawn.Times() {
			if x.Part < stall.NumParts {
				sum += x.Time
			}
		}
		if sum != d.Request.Duration {
			t.Errorf("times sum to %v, want %v", sum, d.Request.Duration)
		}
		drawn.HTML(0, nil)
		drawn.Line(80)
		again, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(bytes.NewReader(again)); err != nil {
			t.Errorf("read again: %v", err)
		}
	})
}
