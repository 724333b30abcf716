package dotnetipc

import (
	"encoding/binary"
	"fmt"
)

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
