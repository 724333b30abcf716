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
	// maxUnixTable bounds what is read of a /proc/PID/net/unix, which lists every
	// socket of a network namespace: some 500,000 of them.
	maxUnixTable = 64 << 20
	// maxEntries bounds what is read of a directory that a process chose.
	maxEntries = 1 << 12
	// maxProcesses bounds the processes that one search looks at.
	maxProcesses = 1 << 16
	// maxVariables bounds the variables that are kept of an environment, maxArguments
	// the words of a command line, and maxPath a path that a process chose: it is
	// PATH_MAX of the kernel.
	maxVariables = 256
	maxArguments = 1 << 12
	maxPath      = 4096
	// maxBound bounds the sockets of one name that are looked at: a process has one,
	// and any process may bind others of that name elsewhere.
	maxBound = 16
	// maxRuntimes bounds the runtimes that may dial a Listener, maxRuntimesOfUser
	// those of one user.
	maxRuntimes       = 256
	maxRuntimesOfUser = 128
	// maxGreeting bounds the connections of a Listener that have not identified
	// themselves.
	maxGreeting = 64
	// maxGreetingOfUser bounds those of one user, maxUnseenOfUser the runtimes of
	// one user whose process cannot be seen from here: whether the
	// same one dials again is not known.
	maxGreetingOfUser = 16
	maxUnseenOfUser   = 16
	// maxSocketPath is the longest path a socket can be bound to: sun_path of
	// unix(7) without its final zero.
	maxSocketPath = 107
)

// pruneEvery is the time between two looks for runtimes of a Listener that have ended.
const pruneEvery = time.Second

// DefaultTimeout bounds one command, from the connection to the whole answer.
const DefaultTimeout = 3 * time.Second

// MaxSessions is how many sessions a runtime has for all its clients,
// EP_MAX_NUMBER_OF_SESSIONS of the runtime's ep-rt-config.h.
const MaxSessions = 64
