package page

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// A browser that is slower than that is refused.
	headerLimit = 5 * time.Second
	readLimit   = 10 * time.Second
	writeLimit  = 10 * time.Second
	idleLimit   = time.Minute
	maxHeader   = 16 << 10
	// maxConnections are open at once; others wait.
	maxConnections = 64
)

// ErrNotLoopback says that others than this machine could reach an address.
var ErrNotLoopback = errors.New("want an address of this machine alone, such as 127.0.0.1:8081: the page shows command lines; from elsewhere reach it by ssh -L")

// CheckAddress returns an error if an address is none of the loopback interface, by its
// text. localhost is one.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("want a host and a port, such as 127.0.0.1:8081")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q: want 0 to 65535", port)
	}
	if !isLoopback(host) {
		return ErrNotLoopback
	}
	return nil
}

// isLoopback reports whether a host is this machine by its text, whatever a resolver says.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Listen listens at an address that [CheckAddress] lets pass.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	// What localhost is, a resolver said.
	if a, is := l.Addr().(*net.TCPAddr); !is || !a.IP.IsLoopback() {
		return nil, errors.Join(ErrNotLoopback, l.Close())
	}
	return l, nil
}

// Server serves a page until it is closed.
type Server struct {
	http http.Server
	over chan struct{} // closed when nothing is served any more
	url  string
}

// Serve serves p.
func Serve(l net.Listener, p *Page) *Server {
	s := &Server{over: make(chan struct{}), url: "http://" + l.Addr().String() + "/"}
	s.http = http.Server{
		Handler: guarded(p), ReadHeaderTimeout: headerLimit, ReadTimeout: readLimit, WriteTimeout: writeLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0), // a browser that goes away is no news
	}
	go func() {
		defer close(s.over)
		_ = s.http.Serve(netutil.LimitListener(l, maxConnections)) // it was closed
	}()
	return s
}

// URL returns where a browser finds the page.
func (s *Server) URL() string { return s.url }

// Close ends all that is served, at once. A nil Server is closed.
func (s *Server) Close() {
	if s != nil {
		_ = s.http.Close() // the listener and the connections are gone in any case
		<-s.over
	}
}

// guarded refuses what no reader of the page asks for. A name that a resolver turns into
// this machine would let the pages of that name read ours; and other sites shall not take
// the places of its readers.
func guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !isLoopback(strings.Trim(host, "[]")) {
			http.Error(w, "want the name or the address of this machine in the URL, such as 127.0.0.1", http.StatusMisdirectedRequest)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			http.Error(w, "another site asks for a part of this page", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
