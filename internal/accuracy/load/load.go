// Package load sends requests: at a fixed rate, or as fast as they are
// answered. It is lean, so that one CPU can keep another one busy.
package load

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

// Plan says what to send.
type Plan struct {
	Addr  string
	Body  []byte  // of each POST request
	Conns int     // connections, each with one request under way at a time
	Rate  float64 // requests per second over all connections; 0: no pause
}

// Load is a running load.
type Load struct {
	quit chan struct{}
	wg   sync.WaitGroup

	mu  sync.Mutex
	err error
}

// Start begins to send.
func Start(p Plan) (*Load, error) {
	request := fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", p.Addr, len(p.Body), p.Body)
	l := &Load{quit: make(chan struct{})}
	begin := time.Now()
	for i := range p.Conns {
		wait := func(int) {}
		if p.Rate > 0 {
			wait = func(k int) { time.Sleep(time.Until(begin.Add(p.due(i, k)))) }
		}
		c, err := net.Dial("tcp", p.Addr)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect to %s: %w", p.Addr, err), l.Stop())
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

// Stop ends the load and returns what went wrong.
func (l *Load) Stop() error {
	close(l.quit)
	l.wg.Wait()
	return l.err
}

// due returns when request k of connection i is due after the begin. It does not
// depend on how the earlier ones went, so that late ones are caught up on.
func (p Plan) due(i, k int) time.Duration {
	return time.Duration(float64(i+k*p.Conns) * float64(time.Second) / p.Rate)
}

func (l *Load) send(c net.Conn, request []byte, wait func(k int)) error {
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
