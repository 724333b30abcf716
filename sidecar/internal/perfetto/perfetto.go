// Package perfetto writes traces that the Perfetto UI and trace_processor open: packets of
// the protocol buffers that the Perfetto project publishes
// (protos/perfetto/trace/trace_packet.proto and track_event/*.proto), written with the wire
// package of the protobuf module.
package perfetto

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelgc/otelgc/stall"
)

// The numbers of the fields that are written.
const (
	tracePacket = 1 // Trace

	packetTimestamp  = 8 // TracePacket
	packetSequence   = 10
	packetTrackEvent = 11
	packetFlags      = 13
	packetDescriptor = 60

	descriptorUUID    = 1 // TrackDescriptor
	descriptorName    = 2
	descriptorProcess = 3
	descriptorParent  = 5
	descriptorCounter = 8

	processPID  = 1 // ProcessDescriptor
	processName = 6

	counterUnit = 3 // CounterDescriptor

	eventAnnotation = 4 // TrackEvent
	eventType       = 9
	eventTrack      = 11
	eventName       = 23
	eventCounter    = 30

	annotationInt    = 4 // DebugAnnotation
	annotationDouble = 5
	annotationString = 6
	annotationName   = 10
)

// Values of enumerations, and the one sequence of packets.
const (
	sliceBegin = 1 // TrackEvent.Type
	sliceEnd   = 2
	instant    = 3
	counter    = 4

	unitBytes = 3 // CounterDescriptor.Unit

	stateCleared = 1 // TracePacket.SequenceFlags
	sequence     = 1
)

// Writer writes a trace.
type Writer struct {
	out  *bufio.Writer // keeps the first error
	last Track
}

// NewWriter returns a Writer that writes to out. Close ends the trace.
func NewWriter(out io.Writer) *Writer { return &Writer{out: bufio.NewWriter(out)} }

// Close writes what is left, and leaves what it is written to open.
func (w *Writer) Close() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write perfetto trace: %w", err)
	}
	return nil
}

// Track is a row of the trace, or a group of rows. Slices of one track must not overlap in
// part.
type Track uint64

// Process begins the tracks of a process, whose id is 0 if it is not known.
func (w *Writer) Process(pid int, name string) Track {
	if pid <= 0 {
		return w.Track(0, name) // 0 is the idle process of the kernel
	}
	process := appendVarint(nil, processPID, uint64(pid))
	process = appendString(process, processName, name)
	return w.describe(0, name, appendBytes(nil, descriptorProcess, process))
}

// Track begins a track below another one.
func (w *Writer) Track(parent Track, name string) Track { return w.describe(parent, name, nil) }

// Bytes begins a track of a number of bytes.
func (w *Writer) Bytes(parent Track, name string) Track {
	return w.describe(parent, name, appendBytes(nil, descriptorCounter, appendVarint(nil, counterUnit, unitBytes)))
}

func (w *Writer) describe(parent Track, name string, more []byte) Track {
	w.last++
	d := appendVarint(nil, descriptorUUID, uint64(w.last))
	d = appendString(d, descriptorName, name)
	if parent != 0 {
		d = appendVarint(d, descriptorParent, uint64(parent))
	}
	var packet []byte
	if w.last == 1 {
		packet = appendVarint(packet, packetFlags, stateCleared)
	}
	w.packet(appendBytes(packet, packetDescriptor, append(d, more...)))
	return w.last
}

// Arg is a fact of a slice: an int64, a float64 or a string.
type Arg struct {
	Name  string
	Value any
}

// Slice writes a stretch of time; an empty one is an instant.
func (w *Writer) Slice(t Track, s stall.Span, name string, args ...Arg) {
	if s.Empty() {
		w.event(s.Start, t, instant, described(name, args))
		return
	}
	w.event(s.Start, t, sliceBegin, described(name, args))
	w.event(s.End, t, sliceEnd, nil)
}

// Count writes the value of a counter from an instant on.
func (w *Writer) Count(t Track, at stall.Instant, v int64) {
	w.event(at, t, counter, appendVarint(nil, eventCounter, uint64(v)))
}

// described returns a name and facts as fields of an event.
func described(name string, args []Arg) []byte {
	b := appendString(nil, eventName, name)
	for _, a := range args {
		one := appendString(nil, annotationName, a.Name)
		switch v := a.Value.(type) {
		case int64:
			one = appendVarint(one, annotationInt, uint64(v))
		case float64:
			one = protowire.AppendTag(one, annotationDouble, protowire.Fixed64Type)
			one = protowire.AppendFixed64(one, math.Float64bits(v))
		default:
			one = appendString(one, annotationString, fmt.Sprint(v))
		}
		b = appendBytes(b, eventAnnotation, one)
	}
	return b
}

func (w *Writer) event(at stall.Instant, t Track, kind uint64, more []byte) {
	event := appendVarint(nil, eventType, kind)
	event = appendVarint(event, eventTrack, uint64(t))
	packet := appendVarint(nil, packetTimestamp, uint64(max(at, 0)))
	w.packet(appendBytes(packet, packetTrackEvent, append(event, more...)))
}

// packet writes a packet of the trace.
func (w *Writer) packet(b []byte) {
	b = appendVarint(b, packetSequence, sequence)
	_, _ = w.out.Write(appendBytes(nil, tracePacket, b)) // the error stays, for Close
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendString(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}
