package service

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// load is a generator of requests, lean enough that one CPU keeps another one busy.
type load struct {
	quit chan struct{}
	wg   sync.WaitGroup

	mu  sync.Mutex
	err error
}

// startLoad sends requests over some connections, each with one request at a time:
// rate requests per second in all, or as many as are answered if rate is 0.
func startLoad(addr string, conns int, rate float64) (*load, error) {
	request := fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body)
	l := &load{quit: make(chan struct{})}
	begin := time.Now()
	for i := range conns {
		wait := func(int) {}
		if rate > 0 {
			wait = func(k int) { time.Sleep(time.Until(begin.Add(due(i, k, conns, rate)))) }
		}
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect to %s: %w", addr, err), l.stop())
		}
		l.wg.Go(func() {
			defer func() { _ = c.Close() }()
			if err := l.send(c, request, wait); err != nil {
				l.mu.Lock()
				l.err = errors.Join(l.err, err)
				l.mu.Unlock()
			}
		})
	}
	return l, nil
}

// stop ends the load and returns what went wrong.
func (l *load) stop() error {
	close(l.quit)
	l.wg.Wait()
	return l.err
}

// due returns when request k of connection i is due after the begin, whenever the
// earlier ones were answered: late ones are caught up on.
func due(i, k, conns int, rate float64) time.Duration {
	return time.Duration(float64(i+k*conns) * float64(time.Second) / rate)
}

func (l *load) send(c net.Conn, request []byte, wait func(k int)) error {
	r := bufio.NewReader(c)
	for k := 0; ; k++ {
		wait(k)
		select {
		case <-l.quit:
			return nil
		default:
		}
		if _, err := c.Write(request); err != nil {
			return fmt.Errorf("send request: %w", err)
		}
		if err := skipResponse(r); err != nil {
			return err
		}
	}
}

var (
	statusOK      = []byte("HTTP/1.1 200 ")
	contentLength = []byte("Content-Length: ")
)

// skipResponse reads one response, which has to be good and of known length.
func skipResponse(r *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		text, err := r.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read response: %w", err)
		}
		text = bytes.TrimRight(text, "\r\n")
		switch {
		case first && !bytes.HasPrefix(text, statusOK):
			return fmt.Errorf("read response: status %q", text)
		case bytes.HasPrefix(text, contentLength):
			if length, err = strconv.Atoi(string(text[len(contentLength):])); err != nil {
				return fmt.Errorf("read response: %w", err)
			}
		case len(text) == 0 && length < 0:
			return errors.New("read response: no Content-Length")
		case len(text) == 0:
			if _, err := r.Discard(length); err != nil {
				return fmt.Errorf("read response: %w", err)
			}
			return nil
		}
	}
}
