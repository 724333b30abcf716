package report

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"github.com/otelgc/otelgc/internal/nettrace"
)

// The events in which a process says what it is. Both come with a file that
// dotnet-trace or DOTNET_EnableEventPipe wrote, and need not be in others.
const (
	providerEventPipe = "Microsoft-DotNETCore-EventPipe"
	eventProcessInfo  = "ProcessInfo" // CommandLine, OSInformation, ArchInformation

	providerRuntime  = "Microsoft-Windows-DotNETRuntime"
	providerRundown  = "Microsoft-Windows-DotNETRuntimeRundown"
	idRuntimeStart   = 187 // RuntimeInformationStart: u16 ClrInstanceID, Sku, then 4 x u16 of the base class library's version
	runtimeStartHead = 12
)

// maxText bounds a text of the file that is kept.
const maxText = 1 << 10

// learn takes what e says of the process.
func (s *Source) learn(e *nettrace.Event) {
	switch {
	case e.Provider == providerEventPipe && e.Name == eventProcessInfo:
		rest := e.Payload
		s.Command, rest = text16(rest)
		s.OS, rest = text16(rest)
		s.Arch, _ = text16(rest)
	case e.ID == idRuntimeStart && (e.Provider == providerRuntime || e.Provider == providerRundown) && len(e.Payload) >= runtimeStartHead:
		u16 := func(at int) uint16 { return binary.LittleEndian.Uint16(e.Payload[at:]) }
		s.Runtime = fmt.Sprintf("dotnet %d.%d.%d", u16(4), u16(6), u16(8))
	}
}

// text16 takes a UTF-16 text that ends with a zero, cut to maxText.
func text16(b []byte) (text string, rest []byte) {
	var units []uint16
	for len(b) >= 2 {
		u := binary.LittleEndian.Uint16(b)
		b = b[2:]
		if u == 0 {
			break
		}
		if len(units) < maxText {
			units = append(units, u)
		}
	}
	return string(utf16.Decode(units)), b
}
