package dotnetipc

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/iotest"
)

// FuzzReply: an answer is a payload or an error, never both, and no more is
// read than its size says. What is read as process info has no field longer
// than the message.
func FuzzReply(f *testing.F) {
	for _, cmd := range []command{processInfo, processInfo2, processInfo3} {
		m, _ := encode(replyOK, infoPayload(cmd))
		f.Add(m)
	}
	refused, _ := encode(replyError, []byte{0x84, 0x13, 0x13, 0x80})
	f.Add(refused)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		payload, err := reply(r)
		if err != nil {
			if payload != nil {
				t.Fatalf("payload %x and error %v", payload, err)
			}
			return
		}
		if read := len(b) - r.Len(); read != headerSize+len(payload) {
			t.Fatalf("read %d bytes of a message of %d", read, headerSize+len(payload))
		}
		again, err := encode(replyOK, payload)
		if err != nil || !bytes.Equal(again[headerSize:], b[headerSize:len(again)]) {
			t.Fatalf("encoded again: %x, %v", again, err)
		}
		for _, cmd := range []command{processInfo, processInfo2, processInfo3} {
			info, err := decodeInfo(cmd, payload)
			if err != nil && info != (ProcessInfo{}) {
				t.Fatalf("info %+v and error %v", info, err)
			}
			// Three bytes of UTF-8 for a unit of UTF-16 at most.
			if n := len(info.CommandLine) + len(info.OS) + len(info.Arch); n > 2*len(payload) {
				t.Fatalf("%d bytes of text of a payload of %d", n, len(payload))
			}
		}
	})
}

func FuzzAdvertisement(f *testing.F) {
	f.Add(append([]byte(advertiseMagic), make([]byte, advertiseSize-len(advertiseMagic))...))
	f.Add([]byte("ADVR_V2\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		a, err := readAdvertisement(r)
		if err != nil && a != (advertisement{}) {
			t.Fatalf("%+v and error %v", a, err)
		}
		if read := len(b) - r.Len(); read > advertiseSize || err == nil && read != advertiseSize {
			t.Fatalf("read %d bytes, an advertisement has %d", read, advertiseSize)
		}
	})
}

// FuzzUnixTable: whatever is found spells its own name, and a table that is too large
// is told from one that was read whole, however it comes.
func FuzzUnixTable(f *testing.F) {
	f.Add([]byte("0000000000000000: 00000002 00000000 00010000 0001 01 23456 /tmp/dotnet-diagnostic-7-99-socket\n"))
	f.Add([]byte("0: 2 0 00010000 1 1 1 /a b/dotnet-diagnostic-7-99-socket"))
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 10
		var found, again []bound
		err := readUnixTable(t.Context(), bytes.NewReader(b), limit, func(s bound) {
			if again, ok := parseSocket(s.dir + "/" + s.name()); !ok || again != s {
				t.Fatalf("%+v is read again as %+v, %v", s, again, ok)
			}
			found = append(found, s)
		})
		piecewise := iotest.OneByteReader(bytes.NewReader(b))
		if err2 := readUnixTable(t.Context(), piecewise, limit, func(s bound) { again = append(again, s) }); err2 != err || !slices.Equal(found, again) {
			t.Fatalf("by bytes: got %v, %v, want %v, %v", again, err2, found, err)
		}
		if large := len(b) >= limit; errors.Is(err, ErrPart) != large || err != nil && !large {
			t.Fatalf("%d bytes: got %v", len(b), err)
		}
	})
}

// FuzzRuntimeConfig: what is kept of a runtimeconfig.json is bounded.
func FuzzRuntimeConfig(f *testing.F) {
	f.Add([]byte(`{"runtimeOptions": {"configProperties": {"System.GC.Server": true, "System.GC.HeapCount": 4}}}`))
	f.Add([]byte(`{"runtimeOptions": {"configProperties": {"System.GC.X": {"y": [1, null]}, "System.Runtime.Tiered": "z"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		knobs, err := parseRuntimeConfig(b)
		if err != nil && knobs != nil || len(knobs) > maxKnobs {
			t.Fatalf("%d properties and error %v", len(knobs), err)
		}
		for name, value := range knobs {
			if len(name)+len(value) > maxKnobBytes {
				t.Fatalf("%q has %d bytes", name, len(name)+len(value))
			}
		}
	})
}
