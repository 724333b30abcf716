package azmcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Response is one answer.
type Response struct {
	// Sent is when the request was written, Received when the answer was read.
	Sent, Received stall.Instant
	// Waited is how long the reading thread waited for a CPU meanwhile: the
	// answer may have been there so much earlier.
	Waited time.Duration
	Bytes  int
}

// Initialize makes the process ready for requests. It is the first call, and
// takes seconds: the process compiles most of itself in it.
func (p *Process) Initialize() error {
	_, err := p.ask("initialize", map[string]any{
		"protocolVersion": "2024-11-05", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "otelgc", "version": "1"},
	})
	if err != nil {
		return err
	}
	_, err = p.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return err
}

// Ping asks for the smallest answer.
func (p *Process) Ping() (Response, error) { return p.ask("ping", map[string]any{}) }

// List asks for the list of tools: 77 kB, and about 200 kB allocated. Pad is
// a number of bytes that the request carries along; from 85,000 on they are a
// large object.
func (p *Process) List(pad int) (Response, error) {
	params := map[string]any{}
	if pad > 0 {
		params["pad"] = strings.Repeat("x", pad)
	}
	return p.ask("tools/list", params)
}

// ask sends one request and waits for its answer.
func (p *Process) ask(method string, params map[string]any) (r Response, err error) {
	p.next++
	id := p.next
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	waited := waitedForCPU()
	if r.Sent, err = p.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return r, err
	}
	for {
		line, err := p.out.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			r.Bytes += len(line)
			line, err = p.out.ReadSlice('\n')
		}
		r.Received, r.Waited = p.clock.Now(), waitedForCPU()-waited
		if err != nil {
			return r, fmt.Errorf("%s: read answer: %w\n%s", method, err, p.stderr.String())
		}
		r.Bytes += len(line)
		// An answer has its id at the end or the start; a notification none.
		if bytes.Contains(line, fmt.Appendf(nil, `"id":%d`, id)) {
			return r, nil
		}
		r.Bytes = 0
	}
}

// waitedForCPU returns how long this thread has been runnable and not running,
// the second field of /proc/thread-self/schedstat.
func waitedForCPU() time.Duration {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	var ran, waited int64
	if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
		return 0
	}
	return time.Duration(waited)
}

func (p *Process) write(message any) (stall.Instant, error) {
	line, err := json.Marshal(message)
	if err != nil {
		return 0, err
	}
	at := p.clock.Now()
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return at, fmt.Errorf("write request: %w\n%s", err, p.stderr.String())
	}
	return at, nil
}
