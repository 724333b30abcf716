package target

import (
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
)

const (
	// maxTargets bounds the processes that are watched at once.
	maxTargets = 64
	// Of the memory that the sidecar may have, all targets get targetsPart besides their
	// streams. One takes targetBytes, mostly queues of telemetry.
	targetsPart = 0.4
	targetBytes = 600 << 10
	// maxSummaries bounds the processes of the summary.
	maxSummaries = 256

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
	// statusEvery is the time between two statuses of a process.
	statusEvery = time.Second

	// stopFor bounds the end of a process's providers.
	stopFor = 2 * time.Second
	// stopWithin bounds Stop, whatever a process does: the end of a session, then
	// that of its providers, and a little for what is between them.
	stopWithin = dotnet.StopFor + stopFor + 500*time.Millisecond
)
