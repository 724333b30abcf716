package dotnetipc

import "time"

// Limits on what the package takes from a peer, sends to it or waits for.
const (
	// maxMessage is the largest message: its size is a uint16.
	maxMessage = 1<<16 - 1
	// maxUnits bounds a string of a reply, in UTF-16 units. No string can be
	// longer than what is left of its message.
	maxUnits = (maxMessage - headerSize) / 2
	// maxProcFile bounds a file of /proc/PID that is read whole.
	maxProcFile = 1 << 20
	// maxUnixTable bounds /proc/PID/net/unix, which lists every socket of a
	// network namespace.
	maxUnixTable = 16 << 20
	// maxProcesses bounds the processes that one search looks at.
	maxProcesses = 1 << 16
	// maxRuntimes bounds the runtimes that may dial a Listener.
	maxRuntimes = 256
	// maxGreeting bounds the connections of a Listener that have not said who
	// they are.
	maxGreeting = 64
	// maxSocketPath is the longest path a socket can be bound to: sun_path of
	// unix(7) without its final zero.
	maxSocketPath = 107
)

// DefaultTimeout bounds one command, from the connection to the whole answer.
const DefaultTimeout = 3 * time.Second

// MaxSessions is how many sessions a runtime has for all its clients,
// EP_MAX_NUMBER_OF_SESSIONS of the runtime's ep-rt-config.h.
const MaxSessions = 64
