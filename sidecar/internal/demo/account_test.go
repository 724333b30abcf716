package demo

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// tell has an account read messages as a service writes them.
func tell(t *testing.T, list []message) *account {
	t.Helper()
	a := &account{maxWindows: 100}
	greeted := false
	if err := a.read(stream(t, list), func() { greeted = true }); err != nil {
		t.Fatal(err)
	}
	if !greeted || !a.ended {
		t.Fatalf("greeted: %v, ended: %v, want both", greeted, a.ended)
	}
	return a
}

func stream(t testing.TB, list []message) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := newMessages(&b)
	for _, m := range list {
		w.send(m)
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func greeting() message {
	return message{Hello: &hello{Address: "127.0.0.1:1", ProbeMode: "periodic"}}
}

func resolved(w *stall.Window, s *stall.Share) message {
	return message{Window: &window{w.Arrival, w.Start, w.End, *s}}
}

func encoded(t *testing.T, m message) []byte { return stream(t, []message{m}).Bytes() }

func collected(c *gc.Collection) message        { return message{Collection: collectionOf(c)} }
func suspended(v *stall.Interval) message       { return message{Suspension: v} }
func gapped(v *stall.Interval) message          { return message{Gap: v} }
func parting(f *farewell) message               { return message{Farewell: f} }
func failed(text string) message                { return message{Failure: text} }
func interval(v stall.Interval) *stall.Interval { return &v }

// TestAccountRefuses: the parent does not believe a child that breaks the protocol.
func TestAccountRefuses(t *testing.T) {
	tests := []struct {
		name string
		list []message
		cut  int
		want string
	}{
		{"two hellos", []message{greeting(), greeting()}, 0, "read message 2 of service: out of order"},
		{"a farewell first", []message{parting(&farewell{})}, 0, "read message 1 of service: out of order"},
		{"a hello from nowhere", []message{{Hello: &hello{}}}, 0, "read message 1 of service: hello without an address"},
		{"a farewell after the last message", []message{greeting(), parting(&farewell{}), parting(&farewell{})}, 0, "read message 3 of service: out of order"},
		{"a hello after a failure", []message{failed("no room"), greeting()}, 0, "read message 2 of service: out of order"},
		{"half a message", []message{greeting()}, 2, "read message 1 of service: unexpected end of JSON input"},
		{"too long", []message{failed(strings.Repeat("x", maxMessage))}, 0, "read message 1 of service: bufio.Scanner: token too long"},
		{"a gap that ends before it starts", []message{greeting(), collected(&gc.Collection{Pauses: []gc.Pause{{Start: 2, End: 1}}})}, 0,
			"read message 2 of service: interval from 2 to 1 with slack 0s is out of range"},
		{"a slack of days", []message{suspended(interval(stall.Interval{Start: 1, End: 2, Slack: 48 * time.Hour}))}, 0,
			"read message 1 of service: interval from 1 to 2 with slack 48h0m0s is out of range"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := stream(t, tt.list)
			b.Truncate(b.Len() - tt.cut)
			a := &account{maxWindows: 1}
			if err := a.read(b, func() {}); err == nil || err.Error() != tt.want {
				t.Errorf("read: %v, want %q", err, tt.want)
			}
		})
	}
}

// TestAccountOfAFailure: why the service ended is known.
func TestAccountOfAFailure(t *testing.T) {
	a := &account{}
	if err := a.read(stream(t, []message{failed("start monitor: no room")}), func() {}); err != nil || !a.ended || a.failure == nil || a.failure.Error() != "service: start monitor: no room" {
		t.Errorf("read: %v, ended: %v, failure %v", err, a.ended, a.failure)
	}
}

func TestAccountIsBounded(t *testing.T) {
	one := resolved(&stall.Window{Start: 1, End: 2}, &stall.Share{Total: 1, Unseen: 1})
	a := &account{maxWindows: 2}
	if err := a.read(stream(t, []message{one, one, one}), func() {}); err != nil {
		t.Fatal(err)
	}
	if len(a.windows) != 2 || a.dropped != 1 {
		t.Errorf("%d windows kept, %d dropped, want 2 and 1", len(a.windows), a.dropped)
	}
}

// full is a window with every field that the demo reads.
func full() (stall.Window, stall.Share) {
	w := stall.Window{Arrival: 100, Start: 200, End: 1200}
	s := stall.Share{
		Total: 1100, Uncertain: 50, App: 300, AppOrHost: 100, Unseen: 50, Covered: 1000,
		Pauses: 2, Collections: 1, LastCollection: 150, Fidelity: stall.Exact,
	}
	s.Charged[stall.GCPause], s.Charged[stall.Queue] = 500, 100
	s.Overlapped[stall.GCPause], s.HostDuring[stall.HostSteal], s.Coincident[stall.HostUnknown] = 7, 8, 9
	return w, s
}

func TestWindowIsWhole(t *testing.T) {
	wantWindow, want := full()
	sent := resolved(&wantWindow, &want)
	got, err := decodeWindow(encoded(t, sent))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent.Window, got); diff != "" {
		t.Errorf("window (-want +got):\n%s", diff)
	}
}

// TestWindowsThatLie are refused when they are decoded, and so by match.
func TestWindowsThatLie(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*stall.Window, *stall.Share)
		want  string
	}{
		"a sum":                       {func(_ *stall.Window, s *stall.Share) { s.Unseen++ }, "share sums to 1.101µs, want its total of 1.1µs"},
		"an end":                      {func(w *stall.Window, _ *stall.Share) { w.End = 199 }, "is out of order"},
		"an arrival":                  {func(w *stall.Window, _ *stall.Share) { w.Arrival = 201 }, "is out of order"},
		"a coverage":                  {func(_ *stall.Window, s *stall.Share) { s.Covered = s.Total + 1 }, "share covers"},
		"a collection without a time": {func(_ *stall.Window, s *stall.Share) { s.Charged[stall.GCPause], s.App = 0, 800 }, "1 collections delayed the window by 0s"},
		"a negative time":             {func(_ *stall.Window, s *stall.Share) { s.App, s.Unseen = -50, 400 }, "duration of -50ns"},
		"a time of days":              {func(_ *stall.Window, s *stall.Share) { s.Coincident[stall.HostSteal] = 48 * time.Hour }, "duration of 48h0m0s"},
	} {
		w, s := full()
		tt.spoil(&w, &s)
		a := &account{windows: [][]byte{encoded(t, resolved(&w, &s))}}
		if _, err := match(nil, a, new(followed)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	w, s := full()
	unknown := strings.Replace(string(encoded(t, resolved(&w, &s))), `"exact"`, `"half"`, 1)
	for _, text := range []string{unknown, `{"Window":null}`, `{"Window":{"Charged":1}}`, `{"Window":{"Charged":[-1]}}`, `{"Window":{"Charged":[0,1]}}`, `[]`, `{"Window":`} {
		if _, err := decodeWindow([]byte(text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// FuzzAccount: whatever a child writes, every message is an error or a value in its
// range, and a share sums to its total.
func FuzzAccount(f *testing.F) {
	w, s := full()
	f.Add(stream(f, []message{
		greeting(), resolved(&w, &s),
		collected(&gc.Collection{Index: 1, Pauses: []gc.Pause{{Start: 1, End: 2}}}),
		gapped(&stall.Interval{Start: 1, End: 200_000, Cause: stall.HostUnknown}),
		suspended(&stall.Interval{Start: 1, End: 2, Cause: stall.RuntimeSuspension}),
		parting(&farewell{}),
	}).Bytes())
	f.Add([]byte(`{"Gap":{"Start":-9223372036854775808,"End":9223372036854775807}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		a := &account{maxWindows: 100}
		if err := a.read(bytes.NewReader(in), func() {}); err != nil && !strings.HasPrefix(err.Error(), "read message ") {
			t.Fatalf("error %q, want one that says what was read", err)
		}
		for _, list := range [][]stall.Interval{a.stops, a.gaps} {
			for _, v := range list {
				if v.Start < 0 || v.End < v.Start || v.Cause >= stall.NumCauses {
					t.Fatalf("kept %+v", v)
				}
			}
		}
		for _, text := range a.windows {
			w, err := decodeWindow(text)
			if err != nil {
				continue
			}
			s := &w.Share
			sum := s.Uncertain + s.App + s.AppOrHost + s.Unseen
			for _, d := range s.Charged {
				sum += d
			}
			if sum != s.Total || w.End < w.Start || s.Covered > s.Total {
				t.Fatalf("window %+v", w)
			}
		}
		if m, err := match(nil, a, new(followed)); err == nil {
			within(m.active, stall.Span{Start: 0, End: 1 << 40})
		}
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("pipe is gone") }

// TestMessagesKeepTheirError: a service whose demo is gone finds out by each flush.
func TestMessagesKeepTheirError(t *testing.T) {
	w := newMessages(broken{})
	for range 2 {
		w.send(greeting())
		if err := w.flush(); err == nil || err.Error() != "write to the demo: pipe is gone" {
			t.Errorf("flush: %v", err)
		}
	}
}
