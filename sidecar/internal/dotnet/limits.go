package dotnet

import "time"

const (
	// maxTargets bounds the processes that are watched at once.
	maxTargets = 64
	// maxSummaries bounds the processes that the summary tells of.
	maxSummaries = 256
	// maxUntold bounds the unseen spans that wait for the next status. More
	// are told as one: more is unseen than was, never less.
	maxUntold = 64

	// logQueue is how many events of one process may wait for the Collector:
	// two seconds of the most that go out. Every process has a queue, which is most
	// of targetBytes.
	logQueue = 256

	// scanEvery is the time between two looks for processes. After a look that took
	// long it is lookShare times as long, so that looks take a tenth of the time
	// however many sockets there are, but no longer than longestRest.
	scanEvery   = time.Second
	longestRest = time.Minute
	lookShare   = 10
	// readFor is how long a read of a quiet stream waits.
	readFor = 250 * time.Millisecond
	// headerFor is how long the start of a stream may take. It comes with the
	// answer.
	headerFor = 3 * time.Second
	// deliveredIn bounds the time from an event to its arrival: the runtime
	// sends what it has every 100 ms (ep-session.c, streaming_thread). 291 ms
	// is the longest that was measured, on a busy machine.
	deliveredIn = time.Second
	// incompleteAfter is how long the parts of a collection that is over are
	// waited for. Under server GC they come after its end.
	incompleteAfter = 2 * time.Second
	// statusEvery is the time between two statuses of a process.
	statusEvery = time.Second

	// After a session failed the next is tried after firstDelay, then twice
	// that and so on up to lastDelay: a session that was left behind takes one
	// of the 64 of the process until its next event.
	firstDelay = time.Second
	lastDelay  = time.Minute
	// endsIn is how long a process may take to be gone when its stream is over.
	endsIn = 500 * time.Millisecond
	// stopFor bounds the end of a session, and of a process's providers.
	stopFor = 2 * time.Second
	// stopWithin bounds Stop, whatever a process does: the end of a session, then
	// that of its providers, and a little for what is between them.
	stopWithin = 2*stopFor + 500*time.Millisecond
)
