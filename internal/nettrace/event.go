package nettrace

// Event is one event, or a place where events are missing.
type Event struct {
	// Provider, ID, Version and Name say what it is. The runtime's own events
	// come without a name. An event without a provider is none: see Lost.
	Provider string
	ID       int
	Version  int
	Name     string
	Ticks    Ticks
	Thread   uint64 // the operating system's id, as far as the stream tells it
	PID      int    // of the process, if the stream names it
	// Payload is valid until the next call of Next.
	Payload []byte
	// Lost is the number of events that Thread recorded between LostSince and
	// Ticks and that the stream does not hold. LostSince is zero if none of
	// the thread was seen before. All other fields but PID are not set then.
	Lost      uint64
	LostSince Ticks
}

// IsLoss reports whether e is a place where events are missing.
func (e *Event) IsLoss() bool { return e.Lost > 0 }
