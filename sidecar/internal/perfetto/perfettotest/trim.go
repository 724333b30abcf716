//go:build ignore

// Trim writes track_event.binpb: of the messages that the Perfetto project publishes, those
// that a trace of tracks is made of, with all their fields but those of other messages.
//
//	protoc --descriptor_set_out=all.binpb perfetto_trace.proto   # protos/perfetto/trace of Perfetto
//	go run trim.go all.binpb track_event.binpb
package main

import (
	"log"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

var kept = []string{"Trace", "TracePacket", "TrackDescriptor", "ProcessDescriptor", "CounterDescriptor", "TrackEvent", "DebugAnnotation"}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var all descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(text, &all); err != nil {
		log.Fatal(err)
	}
	file := all.File[0]
	file.MessageType = slices.DeleteFunc(file.MessageType, func(m *descriptorpb.DescriptorProto) bool { return !slices.Contains(kept, m.GetName()) })
	file.EnumType, file.Extension, file.Options = nil, nil, nil
	for _, m := range file.MessageType {
		trim(m, "."+file.GetPackage()+"."+m.GetName())
	}
	if text, err = (proto.MarshalOptions{Deterministic: true}).Marshal(file); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], text, 0o644); err != nil {
		log.Fatal(err)
	}
}

// trim leaves out the fields of messages that are not kept, and the nested messages.
func trim(m *descriptorpb.DescriptorProto, name string) {
	m.NestedType, m.Extension, m.ExtensionRange, m.Options = nil, nil, nil, nil
	prefix := strings.TrimSuffix(name, m.GetName())
	m.Field = slices.DeleteFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool {
		f.Options = nil
		of, own := strings.CutPrefix(f.GetTypeName(), name+".")
		if own { // an enumeration of the message
			return !slices.ContainsFunc(m.EnumType, func(e *descriptorpb.EnumDescriptorProto) bool { return e.GetName() == of })
		}
		return f.TypeName != nil && !slices.Contains(kept, strings.TrimPrefix(f.GetTypeName(), prefix))
	})
	// A oneof without fields is not allowed.
	var number []int32
	var oneofs []*descriptorpb.OneofDescriptorProto
	for i, o := range m.OneofDecl {
		number = append(number, int32(len(oneofs)))
		if slices.ContainsFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool {
			return f.OneofIndex != nil && f.GetOneofIndex() == int32(i)
		}) {
			oneofs = append(oneofs, o)
		}
	}
	for _, f := range m.Field {
		if f.OneofIndex != nil {
			f.OneofIndex = &number[f.GetOneofIndex()]
		}
	}
	m.OneofDecl = oneofs
}
