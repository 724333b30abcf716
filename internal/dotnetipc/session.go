package dotnetipc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

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
