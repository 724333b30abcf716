package gopprof

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	tracePath = "/debug/pprof/trace"

	// sliceLength is the length of a slice. A process whose trace is not read holds at
	// most a slice in memory. That is why it is less than a second: by then the runtime
	// begins a new generation, waits for the reader of the one before, and only then
	// can end the trace, which goes on meanwhile.
	sliceLength = 750 * time.Millisecond

	dialFor    = 2 * time.Second
	silentFor  = 5 * time.Second // beyond the length: then a slice is given up
	maxSlice   = 64 << 20        // bytes of one
	maxHeaders = 16 << 10
	maxSaid    = 200 // bytes of an error that are repeated
)

// fetcher asks a process for slices.
type fetcher struct {
	client *http.Client
	pid    int
	auto   bool
	url    *url.URL // that is asked; nil where it is still looked for
}

func newFetcher(pid int, text string) (f fetcher, err error) {
	f = fetcher{pid: pid, auto: text == Auto}
	if !f.auto {
		if f.url, err = parse(text); err != nil {
			return f, err
		}
	}
	f.client = &http.Client{
		// No proxy of the environment, nothing that is kept, no other place.
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: dialFor}).DialContext,
			TLSHandshakeTimeout:    dialFor,
			MaxResponseHeaderBytes: maxHeaders,
			DisableKeepAlives:      true,
			DisableCompression:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return f, nil
}

// get asks for a slice, wherever the process serves it.
func (f *fetcher) get(ctx context.Context, length time.Duration) (*body, error) {
	if !f.auto {
		if err := f.belongs(f.url); err != nil {
			return nil, err
		}
		return f.ask(ctx, f.url, length)
	}
	ports, err := listening(f.pid)
	if err != nil {
		return nil, err
	}
	if f.url != nil && !slices.Contains(ports, f.url.Host) {
		f.url = nil // it listens elsewhere by now
	}
	tried := make([]string, 0, len(ports))
	for _, address := range ports {
		u := &url.URL{Scheme: "http", Host: address, Path: tracePath}
		if f.url != nil && f.url.Host != address {
			continue // another was the one before
		}
		b, err := f.ask(ctx, u, length)
		var status *statusError
		if err == nil || errors.As(err, &status) && status.busy {
			f.url = u
			return b, err
		}
		tried = append(tried, err.Error())
	}
	if f.url = nil; len(tried) == 0 {
		return nil, fmt.Errorf("process %d listens on no socket of loopback: give --pprof URL", f.pid)
	}
	return nil, fmt.Errorf("no socket of process %d serves a trace: %s", f.pid, strings.Join(tried, "; "))
}

// errOtherNetwork says that a process does not share our network namespace: its loopback is
// another.
var errOtherNetwork = errors.New("has a network of its own")

// belongs reports an error if a URL on this machine is certainly another process's.
func (f *fetcher) belongs(u *url.URL) error {
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil
	}
	own, err := owns(f.pid, u.Port())
	if errors.Is(err, errOtherNetwork) || err == nil && !own {
		return fmt.Errorf("get %s: process %d does not listen there, or not alone", plain(u), f.pid)
	}
	return nil
}

// ask asks for a slice there.
func (f *fetcher) ask(ctx context.Context, u *url.URL, length time.Duration) (*body, error) {
	where := *u
	where.RawQuery = url.Values{"seconds": {seconds(length)}}.Encode()
	ctx, cancel := context.WithCancel(ctx)
	limit := time.AfterFunc(length+silentFor, cancel)
	fail := func(err error) (*body, error) {
		limit.Stop()
		cancel()
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return fail(fmt.Errorf("get %s: %w", plain(u), err))
	}
	q.Header.Set("User-Agent", "otelgc-sidecar")
	a, err := f.client.Do(q)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // the rest repeats the URL
		}
		if !limit.Stop() {
			err = errTooLate
		}
		return fail(fmt.Errorf("get %s: %w", plain(u), err))
	}
	b := &body{endpoint: plain(u), answer: a, limit: limit, cancel: cancel}
	if err := b.check(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// plain is a URL as it may be said.
func plain(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// statusError is an answer that is no trace.
type statusError struct {
	busy bool // the server serves traces, but not now
	text string
}

func (e *statusError) Error() string { return e.text }

// body reads the trace of one slice.
type body struct {
	endpoint string
	answer   *http.Response
	in       *bufio.Reader
	limit    *time.Timer // gives up a slice that does not end
	cancel   context.CancelFunc
	read     int64
}

// check looks whether the answer is a trace.
func (b *body) check() error {
	a := b.answer
	b.in = bufio.NewReader(a.Body)
	if a.StatusCode == http.StatusOK {
		if head, _ := b.in.Peek(len(traceMagic)); string(head) == traceMagic {
			return nil
		}
	}
	said, _ := io.ReadAll(io.LimitReader(b.in, maxSaid)) // what came is said
	text := strings.TrimSpace(strings.Map(printable, string(said)))
	e := new(statusError)
	switch a.StatusCode {
	case http.StatusOK:
		e.text = fmt.Sprintf("get %s: the answer is no execution trace", b.endpoint)
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		e.text = fmt.Sprintf("get %s: %s (give --pprof http://USER:PASSWORD@HOST:PORT)", b.endpoint, http.StatusText(a.StatusCode))
	case http.StatusNotFound:
		e.text = fmt.Sprintf("get %s: not found (the service does not import net/http/pprof, or serves it elsewhere)", b.endpoint)
	case http.StatusInternalServerError:
		// Tracing is already enabled, or it is any server that fails.
		e.busy = a.Header.Get("X-Go-Pprof") != ""
		e.text = fmt.Sprintf("get %s: %s", b.endpoint, text)
	case http.StatusBadRequest:
		e.text = fmt.Sprintf("get %s: %s (the server's WriteTimeout must be longer than %v)", b.endpoint, text, sliceLength)
	default:
		e.text = fmt.Sprintf("get %s: status %d", b.endpoint, a.StatusCode)
	}
	return e
}

const traceMagic = "go 1."

func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == '\uFFFD' {
		return ' '
	}
	return r
}

var (
	errTooLong  = fmt.Errorf("a slice has more than %d bytes", maxSlice)
	errTooLate  = fmt.Errorf("a slice of %v did not end within %v", sliceLength, sliceLength+silentFor)
	errTooEarly = errors.New("the connection was closed")
)

func (b *body) Read(p []byte) (int, error) {
	if b.read >= maxSlice {
		return 0, errTooLong
	}
	n, err := b.in.Read(p[:min(len(p), maxSlice-int(b.read))])
	b.read += int64(n)
	return n, err
}

// explain says in one line why a slice ended early.
func (b *body) explain(err error) error {
	switch {
	case !b.limit.Stop() && errors.Is(err, context.Canceled):
		err = errTooLate
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: %w", errTooEarly, err)
	}
	return fmt.Errorf("read trace of %s: %w", b.endpoint, err)
}

// close ends the connection, and with it the trace if it still runs.
func (b *body) close() {
	b.limit.Stop()
	b.cancel()
	_ = b.answer.Body.Close() // what is left is not wanted
}
