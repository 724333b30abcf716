package dotnetipc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Client sends commands to one runtime. Each goes over a connection of its own:
// that is the protocol. It may be used by several goroutines.
type Client struct {
	// Timeout bounds one command; DefaultTimeout if zero.
	Timeout time.Duration

	name string // for errors
	dial func(context.Context) (net.Conn, error)
}

// NewClient returns a client of the runtime that listens at e.
func NewClient(e Endpoint) *Client {
	return &Client{name: e.String(), dial: e.dial}
}

// String returns the name of the runtime, for messages.
func (c *Client) String() string { return c.name }

func (c *Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return DefaultTimeout
}

// Resume lets a runtime go on that waits for it at its start
// (DOTNET_DiagnosticPorts with suspend). It does nothing to one that runs.
func (c *Client) Resume(ctx context.Context) error {
	if _, err := c.ask(ctx, resumeRuntime, nil); err != nil {
		return fmt.Errorf("resume %v: %w", c, err)
	}
	return nil
}

// ask sends a command and returns the payload of the answer.
func (c *Client) ask(ctx context.Context, cmd command, payload []byte) ([]byte, error) {
	conn, answer, err := c.send(ctx, cmd, payload)
	if err != nil {
		return nil, err
	}
	return answer, conn.Close()
}

// send sends a command and returns the connection behind the answer. The
// message is whole before the connection is made: see the package's comment.
func (c *Client) send(ctx context.Context, cmd command, payload []byte) (net.Conn, []byte, error) {
	message, err := encode(cmd, payload)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	answer, err := exchange(ctx, conn, message)
	if err != nil {
		_ = conn.Close()
		return nil, nil, c.explain(cmd, err)
	}
	return conn, answer, nil
}

// exchange writes a message and reads the answer before ctx ends.
func exchange(ctx context.Context, conn net.Conn, message []byte) ([]byte, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	// Cancelling ends a read under way.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(message); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	answer, err := reply(conn)
	if err != nil {
		return nil, err
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	return answer, conn.SetDeadline(time.Time{})
}

func (c *Client) explain(cmd command, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%v: %w within %v: a debugger holds the process, or another client holds its diagnostics server", cmd, ErrNoAnswer, c.timeout())
	}
	return fmt.Errorf("%v: %w", cmd, err)
}

// Cookie names one run of one runtime.
type Cookie [16]byte

// String returns the cookie in hex.
func (c Cookie) String() string { return fmt.Sprintf("%x", c[:]) }

// ProcessInfo is what a runtime says of itself. What its version does not say
// is empty.
type ProcessInfo struct {
	PID           uint64 // in the process's own pid namespace
	Cookie        Cookie
	CommandLine   string
	OS            string // such as "Linux"
	Arch          string // such as "x64"
	EntryAssembly string // .NET 6; without its extension
	Version       string // .NET 6; of the runtime, such as "10.0.9"
	RID           string // .NET 8; such as "linux-x64"
}

// ProcessInfo asks the runtime for its identity: by ProcessInfo3, and by what older
// runtimes know instead.
func (c *Client) ProcessInfo(ctx context.Context) (ProcessInfo, error) {
	for _, cmd := range []command{processInfo3, processInfo2} {
		info, err := c.processInfo(ctx, cmd)
		if !errors.Is(err, UnknownCommand) {
			return info, err
		}
	}
	return c.processInfo(ctx, processInfo)
}

func (c *Client) processInfo(ctx context.Context, cmd command) (ProcessInfo, error) {
	payload, err := c.ask(ctx, cmd, nil)
	if err != nil {
		return ProcessInfo{}, fmt.Errorf("ask %v who it is: %w", c, err)
	}
	info, err := decodeInfo(cmd, payload)
	if err != nil {
		return ProcessInfo{}, fmt.Errorf("ask %v who it is: read %v: %w", c, cmd, err)
	}
	return info, nil
}

// decodeInfo reads the answer to cmd. What a later version appends is ignored.
func decodeInfo(cmd command, payload []byte) (ProcessInfo, error) {
	d := decoder{b: payload}
	if cmd == processInfo3 {
		d.u32() // version of the answer; fields are only ever appended
	}
	info := ProcessInfo{PID: d.u64(), Cookie: d.cookie(), CommandLine: d.text(), OS: d.text(), Arch: d.text()}
	if cmd != processInfo {
		info.EntryAssembly, info.Version = d.text(), d.text()
	}
	if cmd == processInfo3 {
		info.RID = d.text()
	}
	if d.err != nil {
		return ProcessInfo{}, d.err
	}
	return info, nil
}

// Session is a stream of events. One goroutine reads; Stop and Close may be
// called from another.
type Session struct {
	// ID is the runtime's number of the session.
	ID uint64
	// Version is that of CollectTracing which the runtime knew, 2 to 5.
	Version int

	client *Client
	conn   net.Conn
}

// Collect starts a session: by CollectTracing5, and by what older runtimes know
// instead.
func (c *Client) Collect(ctx context.Context, q Request) (*Session, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	var s *Session
	var err error
	for _, v := range []struct {
		version int
		cmd     command
	}{{5, collectTracing5}, {4, collectTracing4}, {3, collectTracing3}, {2, collectTracing2}} {
		s, err = c.collect(ctx, v.cmd, &q)
		if err == nil {
			s.Version = v.version
			return s, nil
		}
		if !errors.Is(err, UnknownCommand) {
			break
		}
	}
	return nil, fmt.Errorf("start session with %v: %w", c, err)
}

func (c *Client) collect(ctx context.Context, cmd command, q *Request) (*Session, error) {
	conn, answer, err := c.send(ctx, cmd, q.encode(cmd))
	if errors.Is(err, Fail) {
		return nil, fmt.Errorf("%w: the %d of the process are in use: end other tools; a session whose tool died ends at the next event: %w", ErrBusy, MaxSessions, err)
	}
	if err != nil {
		return nil, err
	}
	d := decoder{b: answer}
	s := &Session{ID: d.u64(), client: c, conn: conn}
	if d.err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%v: read session id: %w", cmd, d.err)
	}
	return s, nil
}

// Read reads the stream. A runtime that has nothing to say sends nothing, for
// hours: with a deadline the error is os.ErrDeadlineExceeded then. It returns
// io.EOF when the runtime ended the session or died.
func (s *Session) Read(p []byte) (int, error) { return s.conn.Read(p) }

// SetReadDeadline sets when Read gives up; never for the zero time.
func (s *Session) SetReadDeadline(t time.Time) error { return s.conn.SetReadDeadline(t) }

// Stop asks the runtime to end the stream in good order: it writes what it
// holds, and the mark of the end. The stream must be read until io.EOF
// meanwhile, or the runtime's diagnostics server hangs until Close. A Stop that
// returns an error leaves only Close, which always ends a session.
func (s *Session) Stop(ctx context.Context) error {
	_, err := s.client.ask(ctx, stopTracing, binary.LittleEndian.AppendUint64(nil, s.ID))
	if err != nil {
		return fmt.Errorf("stop session %d with %v: %w", s.ID, s.client, err)
	}
	return nil
}

// Close ends the connection. The runtime ends a session whose connection is
// gone when it next has an event for it.
func (s *Session) Close() error { return s.conn.Close() }

// Provider is a source of events in the runtime.
type Provider struct {
	Name      string
	Keywords  uint64 // bits, by the provider's own list
	Level     uint32 // 0 (always) to 5 (verbose)
	Arguments string
	// Events are the only events wanted, by id; all if empty. Runtimes before
	// .NET 10 send all that the keywords and the level name.
	Events []uint32
}

// Keywords of the provider Microsoft-Windows-DotNETRuntime, ClrEtwAll.man, that
// make the process collect as soon as the session starts.
const (
	KeywordGCHeapDump    = 0x100000
	KeywordGCHeapCollect = 0x800000
)

const induces = KeywordGCHeapCollect | KeywordGCHeapDump

// DefaultBufferMB is the memory that the runtime may hold for a session. It
// takes it as it needs it; a reader that keeps up costs a fraction. Below 4 MB
// two busy threads lose events.
const DefaultBufferMB = 16

// Request says what a session is to send.
type Request struct {
	Providers []Provider
	BufferMB  uint32 // DefaultBufferMB if zero
	// Induce lets a keyword through that makes the process collect. It is for
	// tests: a blocking collection of the whole heap stops the process.
	Induce bool
}

func (q *Request) check() error {
	if len(q.Providers) == 0 {
		return fmt.Errorf("start session: no provider")
	}
	for _, p := range q.Providers {
		switch {
		case p.Name == "":
			return fmt.Errorf("start session: a provider has no name")
		case p.Level > 5:
			return fmt.Errorf("start session: level %d of %s, want 0 to 5", p.Level, p.Name)
		case p.Keywords&induces != 0 && !q.Induce:
			return fmt.Errorf("start session: keywords %#x of %s: %w: leave %#x out", p.Keywords, p.Name, ErrInduces, p.Keywords&induces)
		}
	}
	return nil
}

// encode returns the payload of the CollectTracing command c: format nettrace,
// no rundown, no stacks.
func (q *Request) encode(c command) []byte {
	var b []byte
	u32 := func(v uint32) { b = binary.LittleEndian.AppendUint32(b, v) }
	u64 := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	if c == collectTracing5 {
		u32(0) // session type: a stream on this connection
	}
	mb := q.BufferMB
	if mb == 0 {
		mb = DefaultBufferMB
	}
	u32(mb)
	u32(1) // format: nettrace
	switch c {
	case collectTracing2:
		b = append(b, 0) // rundown
	case collectTracing3:
		b = append(b, 0, 0) // rundown, stacks
	default:
		u64(0)           // rundown keywords
		b = append(b, 0) // stacks
	}
	u32(uint32(len(q.Providers)))
	for _, p := range q.Providers {
		u64(p.Keywords)
		u32(p.Level)
		b = appendString(b, p.Name)
		b = appendString(b, p.Arguments)
		if c != collectTracing5 {
			continue
		}
		if len(p.Events) == 0 {
			// A list of what is not wanted, which is empty.
			b = append(b, 0)
			u32(0)
			continue
		}
		b = append(b, 1) // the list is of what is wanted
		u32(uint32(len(p.Events)))
		for _, id := range p.Events {
			u32(id)
		}
	}
	return b
}
