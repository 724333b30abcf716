package dotnetipc

import "fmt"

// HResult is the error code of a runtime's answer: diagnostics IPC codes of
// the runtime's ds-rt-types.h, and those of Windows.
type HResult uint32

// The codes that have a meaning here.
const (
	BadEncoding          HResult = 0x80131384
	UnknownCommand       HResult = 0x80131385
	UnknownMagic         HResult = 0x80131386
	NotSupported         HResult = 0x80131515
	Fail                 HResult = 0x80004005
	NotYetAvailable      HResult = 0x8013135b
	RuntimeUninitialized HResult = 0x80131371
	InvalidArgument      HResult = 0x80070057
)

// Error returns what the code means.
func (h HResult) Error() string {
	meaning := "unknown code"
	switch h {
	case BadEncoding:
		meaning = "the runtime cannot read the command"
	case UnknownCommand:
		meaning = "the runtime does not know the command"
	case UnknownMagic:
		meaning = "the runtime does not know the protocol"
	case NotSupported:
		meaning = "the runtime does not support it"
	case Fail:
		meaning = "the runtime refuses"
	case NotYetAvailable:
		meaning = "not yet available: the runtime is starting"
	case RuntimeUninitialized:
		meaning = "the runtime is not initialized"
	case InvalidArgument:
		meaning = "the runtime does not accept an argument"
	}
	return fmt.Sprintf("%s (0x%08x)", meaning, uint32(h))
}
