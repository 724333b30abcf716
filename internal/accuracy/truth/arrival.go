package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

const (
	arrivalHeader = "X-Arrival"
	callEvery     = 5 * time.Millisecond
	connections   = 4
)

type requestKey struct{}

// call sends requests through the middleware until a time, each when a schedule
// says, which is its arrival: the schedule does not wait for a world that is
// stopped.
func (b *bench) call(until time.Time) {
	inner := http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		r := q.Context().Value(requestKey{}).(*request)
		r.begin[1] = b.now() + clockSlack
		b.work(r)
		r.end[0] = b.now() - clockSlack
	})
	next := b.m.Middleware(inner)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		var r request
		at, _ := strconv.ParseInt(q.Header.Get(arrivalHeader), 10, 64)
		r.arrival = stall.Instant(at)
		r.begin[0] = b.now() - clockSlack
		next.ServeHTTP(rw, q.WithContext(context.WithValue(q.Context(), requestKey{}, &r)))
		r.end[1] = b.now() + clockSlack
		b.log(&r)
	}))
	defer s.Close()
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range connections {
		wg.Go(func() {
			for k := i; ; k += connections {
				due := begin.Add(time.Duration(k) * callEvery)
				if due.After(until) {
					return
				}
				time.Sleep(time.Until(due))
				arrival, _ := clock.At(due)
				get(s, arrival)
			}
		})
	}
	wg.Wait()
}

func get(s *httptest.Server, arrival stall.Instant) {
	q, err := http.NewRequest(http.MethodGet, s.URL, nil)
	if err != nil {
		return
	}
	q.Header.Set(arrivalHeader, strconv.FormatInt(int64(arrival), 10))
	answer, err := s.Client().Do(q)
	if err != nil {
		return // there is one request fewer
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}
