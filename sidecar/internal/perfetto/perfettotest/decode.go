// Package perfettotest reads traces for Perfetto back, by the messages that the Perfetto
// project publishes, for tests.
package perfettotest

import (
	_ "embed"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// published describes the messages; trim.go says how it is made.
//
//go:embed track_event.binpb
var published []byte

// Packet is a packet of a trace: of a track, or of an event.
type Packet struct {
	Sequence   uint64
	Flags      uint64 // 0 if it has none
	Descriptor *Track // nil if it is of an event
	Event      *Event
}

// Track is the description of a track.
type Track struct {
	ID, Parent  uint64
	Name        string
	PID         int64 // 0 if it is not that of a process
	ProcessName string
	Unit        string // of a counter; empty if it is none
}

// Event is an event of a track. What it does not have is zero.
type Event struct {
	At      uint64
	Type    string // such as TYPE_SLICE_BEGIN
	Track   uint64
	Name    string
	Counter int64
	Args    map[string]any // int64, float64 or string
}

// Decode reads a trace. A field that is not published fails the test.
func Decode(t testing.TB, trace []byte) (packets []Packet) {
	t.Helper()
	var file descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(published, &file); err != nil {
		t.Fatal(err)
	}
	described, err := protodesc.NewFile(&file, new(protoregistry.Files))
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(described.Messages().ByName("Trace"))
	if err := proto.Unmarshal(trace, m); err != nil {
		t.Fatal(err)
	}
	checkKnown(t, m)
	list := message{m}.get("packet").List()
	for i := range list.Len() {
		packets = append(packets, packetOf(message{list.Get(i).Message()}))
	}
	return packets
}

func packetOf(m message) Packet {
	p := Packet{Sequence: m.get("trusted_packet_sequence_id").Uint(), Flags: m.get("sequence_flags").Uint()}
	if m.has("track_descriptor") {
		d := m.of("track_descriptor")
		p.Descriptor = &Track{ID: d.get("uuid").Uint(), Parent: d.get("parent_uuid").Uint(), Name: d.get("name").String()}
		if d.has("process") {
			p.Descriptor.PID, p.Descriptor.ProcessName = d.of("process").get("pid").Int(), d.of("process").get("process_name").String()
		}
		if d.has("counter") {
			p.Descriptor.Unit = d.of("counter").enum("unit")
		}
	}
	if m.has("track_event") {
		e := m.of("track_event")
		p.Event = &Event{
			At: m.get("timestamp").Uint(), Type: e.enum("type"), Track: e.get("track_uuid").Uint(),
			Name: e.get("name").String(), Counter: e.get("counter_value").Int(),
		}
		args := e.get("debug_annotations").List()
		for i := range args.Len() {
			a := message{args.Get(i).Message()}
			for _, kind := range []protoreflect.Name{"int_value", "double_value", "string_value"} {
				if a.has(kind) {
					if p.Event.Args == nil {
						p.Event.Args = make(map[string]any)
					}
					p.Event.Args[a.get("name").String()] = a.get(kind).Interface()
				}
			}
		}
	}
	return p
}

// message reads fields by their published names.
type message struct{ protoreflect.Message }

func (m message) field(name protoreflect.Name) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(name)
}

func (m message) has(name protoreflect.Name) bool { return m.Has(m.field(name)) }

func (m message) get(name protoreflect.Name) protoreflect.Value { return m.Get(m.field(name)) }

func (m message) of(name protoreflect.Name) message { return message{m.get(name).Message()} }

func (m message) enum(name protoreflect.Name) string {
	return string(m.field(name).Enum().Values().ByNumber(m.get(name).Enum()).Name())
}

// checkKnown checks that every field of a message is published.
func checkKnown(t testing.TB, m protoreflect.Message) {
	t.Helper()
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		t.Errorf("%s has fields that are not published: %x", m.Descriptor().Name(), unknown)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				checkKnown(t, v.List().Get(i).Message())
			}
		case f.Message() != nil && !f.IsMap():
			checkKnown(t, v.Message())
		}
		return true
	})
}
