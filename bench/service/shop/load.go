package shop

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

// Load is a generator of requests, lean enough that one CPU keeps another one busy.
type Load struct {
	quit chan struct{}
	wg   sync.WaitGroup

	mu   sync.Mutex
	took []float64 // how long answers took since Took, in ms
	err  error
}

// StartLoad sends requests over some connections, each with one request at a time:
// rate requests per second in all, or as many as are answered if rate is 0.
func StartLoad(addr string, conns int, rate float64) (*Load, error) {
	l := &Load{quit: make(chan struct{})}
	begin := time.Now()
	for i := range conns {
		wait := func(int) {}
		if rate > 0 {
			wait = func(k int) { time.Sleep(time.Until(begin.Add(due(i, k, conns, rate)))) }
		}
		c, err := Dial(addr)
		if err != nil {
			return nil, errors.Join(err, l.Stop())
		}
		l.wg.Go(func() {
			defer func() { _ = c.Close() }()
			if err := l.send(c, wait); err != nil {
				l.mu.Lock()
				l.err = errors.Join(l.err, err)
				l.mu.Unlock()
			}
		})
	}
	return l, nil
}

// Took returns how long each answer took since the last call, in ms, from the moment at
// which its request was sent.
func (l *Load) Took() []float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	took := l.took
	l.took = make([]float64, 0, cap(took))
	return took
}

func (l *Load) answered(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, 1e3*d.Seconds())
}

// Stop ends the load and returns what went wrong.
func (l *Load) Stop() error {
	close(l.quit)
	l.wg.Wait()
	return l.err
}

// due returns when request k of connection i is due after the begin, whenever the
// earlier ones were answered: late ones are caught up on.
func due(i, k, conns int, rate float64) time.Duration {
	return time.Duration(float64(i+k*conns) * float64(time.Second) / rate)
}

func (l *Load) send(c *Conn, wait func(k int)) error {
	for k := 0; ; k++ {
		wait(k)
		select {
		case <-l.quit:
			return nil
		default:
		}
		sent := time.Now()
		if err := c.Order(); err != nil {
			return err
		}
		l.answered(time.Since(sent))
	}
}

// Conn is a connection with one order at a time.
type Conn struct {
	net.Conn
	r       *bufio.Reader
	request []byte
}

// Dial connects to a service.
func Dial(addr string) (*Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	request := fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", addr, len(Body), Body)
	return &Conn{c, bufio.NewReader(c), request}, nil
}

// Order sends an order and reads its answer.
func (c *Conn) Order() error {
	if _, err := c.Write(c.request); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return skipResponse(c.r)
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
