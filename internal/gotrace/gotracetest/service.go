package gotracetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"strconv"
	"sync"
	"testing"
	"time"
)

// slots is the number of different user log categories of [RecordService].
const slots = 4096

// RecordService traces a net/http service with JSON bodies under the load of a
// few clients, each request marked at its begin and its end.
func RecordService(t testing.TB, atLeast time.Duration) []byte {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
	var keys [slots]string
	for i := range keys {
		keys[i] = MarkPrefix + strconv.Itoa(i)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		key := keys[n%slots]
		trace.Log(context.Background(), key, "")
		defer trace.Log(context.Background(), key, "")
		answer(w, r)
	}))
	defer server.Close()
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Skipf("skipped: tracing cannot start: %v", err)
	}
	until := time.Now().Add(atLeast)
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() { load(t, server, c, until) })
	}
	wg.Wait()
	trace.Stop()
	return out.Bytes()
}

type item struct {
	Name  string         `json:"name"`
	Count int            `json:"count"`
	Tags  []string       `json:"tags"`
	More  map[string]any `json:"more"`
}

func answer(w http.ResponseWriter, r *http.Request) {
	var in item
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	in.Count++
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(in) // the client has gone: nobody to tell
}

func load(t testing.TB, server *httptest.Server, c int, until time.Time) {
	body, err := json.Marshal(item{Name: "x", Tags: []string{"a", "b", "c"}, More: map[string]any{"k": 1.5}})
	if err != nil {
		t.Error(err)
		return
	}
	for n := c; time.Now().Before(until); n += 4 {
		resp, err := server.Client().Post(server.URL+"/?n="+strconv.Itoa(n), "application/json", bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}
