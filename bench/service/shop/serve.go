// Package shop is a small order service of net/http and encoding/json, the load that it
// gets, and the meter of what it uses. It imports the standard library only.
package shop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Command does what its parent asks a service for, and returns what it used.
type Command func(now func() Usage) (Usage, error)

// Server is what serves: that of net/http is one.
type Server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// Serve serves h, in which the orders are, as Run does.
func Serve(o *Orders, h http.Handler, commands map[string]Command) error {
	return Run(&http.Server{Handler: h, ReadHeaderTimeout: time.Minute}, o, commands)
}

// Run has the server serve until the standard input ends. It says its address on the
// standard output, and there answers each line of the input with a Usage: "now" with that
// up to now, "slice" and a duration with that when the next trace begins, and any other as
// commands say.
func Run(server Server, o *Orders, commands map[string]Command) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	m := &meter{begin: time.Now(), served: o.Served}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	wg.Go(func() { m.look(quit) })
	err = answer(m, l.Addr().String(), commands)
	close(quit)
	err = errors.Join(err, server.Shutdown(context.Background()))
	wg.Wait()
	return err
}

// answer obeys the parent's commands.
func answer(m *meter, addr string, commands map[string]Command) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(addr); err != nil {
		return err
	}
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		u, err := m.obey(s.Text(), commands)
		if err != nil {
			return fmt.Errorf("obey %q: %w", s.Text(), err)
		}
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) obey(line string, commands map[string]Command) (Usage, error) {
	if do := commands[line]; do != nil {
		return do(m.now)
	}
	if arg, slice := strings.CutPrefix(line, "slice "); slice {
		limit, err := time.ParseDuration(arg)
		return m.atSlice(limit), err
	}
	return m.now(), nil
}
