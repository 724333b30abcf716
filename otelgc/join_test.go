package otelgc

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/window"
)

// TestJoin: the time of a window that waits for a child that joined is the
// child's; without joining, waiting is the program's own doing.
func TestJoin(t *testing.T) {
	for name, join := range map[string]bool{"joined": true, "not joined": false} {
		t.Run(name, func(t *testing.T) {
			var got shares
			m := startTest(t, WithExactBudget(1), WithOnWindow(got.add))
			waitMarking(t, m)
			w, opened := m.Begin(context.Background()), time.Now()
			ctx := context.Background()
			if join {
				ctx = w.Context(ctx)
			}
			computeBeside(ctx, opened)
			w.End()
			settle(t, m)
			s := got.all[0].s
			if s.Unseen > s.Total/2 {
				t.Skipf("the slice ended: %s", s.Explain())
			}
			if join && s.App > s.Total/2 || !join && s.AppOrHost > s.Total/2 {
				t.Errorf("joined %v: %s", join, s.Explain())
			}
		})
	}
}

// TestJoinRequest: a goroutine that a handler starts joins by the context of its
// request, for who asks for that; else the request is handed on as it came.
func TestJoinRequest(t *testing.T) {
	for name, opts := range map[string][]Option{"joinable": {WithJoinableRequests()}, "not asked for": nil} {
		t.Run(name, func(t *testing.T) {
			var got shares
			m := startTest(t, append(opts, WithExactBudget(1), WithOnWindow(got.add))...)
			waitMarking(t, m)
			asked := httptest.NewRequest(http.MethodGet, "/", nil)
			opened := time.Now()
			m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if len(opts) == 0 && r != asked {
					t.Error("the request is another one")
				}
				r.Pattern = "GET /orders"
				computeBeside(r.Context(), opened)
			})).ServeHTTP(httptest.NewRecorder(), asked)
			if asked.Pattern != "GET /orders" {
				t.Errorf("who stands outside is told pattern %q", asked.Pattern)
			}
			settle(t, m)
			s := got.all[0].s
			if s.Unseen > s.Total/2 {
				t.Skipf("the slice ended: %s", s.Explain())
			}
			// What waits for its own doing is the program's, and what computes
			// on a machine that nobody watches may be the host's.
			if joined := s.AppOrHost > s.App; joined != (len(opts) > 0) {
				t.Errorf("joined %v: %s", joined, s.Explain())
			}
		})
	}
}

// TestNoContext: who passes none is not ended by it, and not in slices alone.
func TestNoContext(t *testing.T) {
	for name, budget := range map[string]float64{"outside": 0, "inside": 1} {
		t.Run(name, func(t *testing.T) {
			m := startTest(t, WithExactBudget(budget))
			if budget > 0 {
				waitMarking(t, m)
			}
			var none context.Context
			w := m.Begin(none)
			if got := w.Context(none); got != nil {
				t.Errorf("Context: got %v, want none", got)
			}
			Join(none)()
			w.End()
		})
	}
}

// TestUploadOfAJoinableRequest: the files that a handler has made of an upload are
// gone when the request is over, as net/http has it: also where the handler got a
// copy of the request.
func TestUploadOfAJoinableRequest(t *testing.T) {
	m := startTest(t, WithExactBudget(1), WithJoinableRequests())
	files := t.TempDir()
	t.Setenv("TMPDIR", files)
	s := httptest.NewServer(m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(0); err != nil {
			t.Error(err)
		}
		if list, err := os.ReadDir(files); len(list) == 0 {
			t.Errorf("no file was made of the upload: %v", err)
		}
	})))
	waitMarking(t, m)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "file")
	if err != nil {
		t.Fatal(err)
	}
	const large = 11 << 20 // more than net/http keeps in memory
	if _, err := part.Write(make([]byte, large)); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Post(s.URL, form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	s.Close() // the request is over
	if list, err := os.ReadDir(files); len(list) != 0 || err != nil {
		t.Errorf("%d files of the upload are left, %v", len(list), err)
	}
}

// computeBeside has a goroutine compute that joins the window of ctx, for longer
// than it took to get a CPU, however long that was.
func computeBeside(ctx context.Context, opened time.Time) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer Join(ctx)()
		begin := time.Now()
		for least := 50*time.Millisecond + 3*begin.Sub(opened); time.Since(begin) < least; {
		}
	}()
	<-done
}

// TestLeaveTwice: a second leave does nothing. Otherwise another child would be taken to
// have left.
func TestLeaveTwice(t *testing.T) {
	skipIfTraced(t)
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	w := m.Begin(context.Background())
	defer w.End()
	slot := w.w.ref.slot
	leave := Join(w.Context(context.Background()))
	resume, err := m.PauseExact(t.Context()) // or else the trace has its mark
	if err != nil {
		t.Fatal(err)
	}
	defer resume()
	leave()
	leave()
	if got, _ := m.windows.Slots.LeftUnmarked(slot, w.w.start); got != 1 {
		t.Errorf("left %d times, want once", got)
	}
}

// TestJoinTooLate: a goroutine that finds its window open, and loses its CPU before it
// marks itself, joins the window that has the slot by then. It leaves at once.
func TestJoinTooLate(t *testing.T) {
	m := idleMonitor(t)
	slots := m.windows.Slots
	slot := slots.Take()
	slots.Publish(window.Open{Slot: slot, Held: second, Start: second})
	at := &joinPoint{m, slot, slots.Turn(slot)}
	for _, over := range []bool{false, true} {
		var marks []string
		joined := at.join(func(key string) {
			if over && len(marks) == 0 {
				slots.Claim(slot, second)
				slots.Give(slot, 2*second)
				slots.Publish(window.Open{Slot: slot, Held: 3 * second, Start: 3 * second})
			}
			marks = append(marks, key)
		})
		want := []string{gotrace.WindowJoin.Key(slot)}
		if over {
			want = append(want, gotrace.WindowLeave.Key(slot))
		}
		if diff := cmp.Diff(want, marks); diff != "" || joined == over {
			t.Errorf("over %v: joined %v, marks (-want +got):\n%s", over, joined, diff)
		}
	}
}
