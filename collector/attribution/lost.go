package attribution

import "errors"

// Why an event was not taken. Each is a value of error.type.
var (
	errNoIdentity = errors.New("no_identity") // no boot id, or no source that is known
	errTime       = errors.New("time")        // times or sizes that cannot be
	errCause      = errors.New("cause")       // a cause or a scope that is not of the list
)

// Lost counts what was not kept or not attributed, since New.
type Lost struct {
	// Events by why they were not taken: no_identity, time, cause.
	Events map[string]uint64
	// Duplicates are events that were there already: they count once.
	Duplicates uint64
	// SpansOverLimit went on unattributed for want of room.
	SpansOverLimit uint64
	// SpansTimedOut were attributed with what was known when Wait was over.
	SpansTimedOut uint64
	// SpansUnknown had nobody who watched their process: coverage 0.
	SpansUnknown uint64
	// HostsForgotten and ProcessesForgotten were silent longest when there was
	// no room for another.
	HostsForgotten, ProcessesForgotten uint64
}
