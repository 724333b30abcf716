package dotnetipc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newBytesReader(b []byte) *bytes.Reader { return bytes.NewReader(b) }

// TestEncode holds the bytes of a command to the specification's.
func TestEncode(t *testing.T) {
	got, err := encode(stopTracing, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	if err != nil {
		t.Fatal(err)
	}
	want := "444f544e45545f4950435f563100" + "1c00" + "02" + "01" + "0000" + "0102030405060708"
	if diff := cmp.Diff(want, hex.EncodeToString(got)); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if _, err := encode(collectTracing5, make([]byte, maxMessage)); err == nil || !strings.Contains(err.Error(), "at most 65535") {
		t.Errorf("a message that is too long: got %v", err)
	}
}

func TestReply(t *testing.T) {
	fine, _ := encode(replyOK, []byte("answer"))
	refused, _ := encode(replyError, []byte{0x05, 0x40, 0x00, 0x80})
	short, _ := encode(replyError, []byte{1})
	other, _ := encode(stopTracing, nil)
	tiny := append([]byte(magic), 3, 0, 0xff, 0, 0, 0)
	for _, c := range []struct {
		name, input string
		want        string
		err         string
	}{
		{"ok", string(fine) + "stream", "answer", ""},
		{"error", string(refused), "", "the runtime refuses (0x80004005)"},
		{"error without a code", string(short), "", "read error code"},
		{"no reply", string(other), "", "got StopTracing"},
		{"size below the header's", string(tiny), "", "size is 3"},
		{"another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n", "", "not a .NET runtime"},
	} {
		r := strings.NewReader(c.input)
		got, err := reply(r)
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %q, %v, want %q, %q", c.name, got, err, c.want, c.err)
		}
	}
	if _, err := reply(bytes.NewReader(refused)); !errors.Is(err, Fail) {
		t.Errorf("error code: got %v, want Fail", err)
	}
	// What follows the answer is a stream, and not ours.
	r := bytes.NewReader([]byte(string(fine) + "stream"))
	if _, err := reply(r); err != nil || r.Len() != len("stream") {
		t.Errorf("%d bytes are left behind the answer, want %d (%v)", r.Len(), len("stream"), err)
	}
}

// TestReplyCut cuts an answer at every byte.
func TestReplyCut(t *testing.T) {
	whole, _ := encode(replyOK, infoPayload(processInfo3))
	for n := range whole {
		_, err := reply(bytes.NewReader(whole[:n]))
		if n == 0 && !errors.Is(err, io.EOF) || n > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: got %v", n, err)
		}
	}
	payload := infoPayload(processInfo3)
	for n := range payload {
		if info, err := decodeInfo(processInfo3, payload[:n]); !errors.Is(err, io.ErrUnexpectedEOF) || info != (ProcessInfo{}) {
			t.Fatalf("process info cut at %d: got %+v, %v", n, info, err)
		}
	}
}

func TestInfo(t *testing.T) {
	for _, cmd := range []command{processInfo, processInfo2, processInfo3} {
		got, err := decodeInfo(cmd, append(infoPayload(cmd), "fields of a later version"...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantInfo(cmd), got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", cmd, diff)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, want := range []string{"", "a", "Größe", "日本", "😀 beyond the basic plane"} {
		d := decoder{b: appendString(nil, want)}
		if got := d.text(); got != want || d.err != nil || d.at != len(d.b) {
			t.Errorf("string %q: got %q, %v, %d of %d bytes read", want, got, d.err, d.at, len(d.b))
		}
	}
	huge := decoder{b: []byte{0xff, 0xff, 0xff, 0xff, 0, 0}}
	if got := huge.text(); got != "" || huge.err == nil {
		t.Errorf("a string of 4294967295 units: got %q, %v", got, huge.err)
	}
}

// infoPayload is what a runtime answers to cmd.
func infoPayload(cmd command) []byte {
	var b []byte
	if cmd == processInfo3 {
		b = binary.LittleEndian.AppendUint32(b, 1)
	}
	b = binary.LittleEndian.AppendUint64(b, 4711)
	b = append(b, "0123456789abcdef"...)
	for _, s := range []string{"/app/shop --port 80", "Linux", "x64"} {
		b = appendString(b, s)
	}
	if cmd != processInfo {
		b = appendString(appendString(b, "shop"), "10.0.9")
	}
	if cmd == processInfo3 {
		b = appendString(b, "linux-x64")
	}
	return b
}

func wantInfo(cmd command) ProcessInfo {
	w := ProcessInfo{PID: 4711, CommandLine: "/app/shop --port 80", OS: "Linux", Arch: "x64"}
	copy(w.Cookie[:], "0123456789abcdef")
	if cmd != processInfo {
		w.EntryAssembly, w.Version = "shop", "10.0.9"
	}
	if cmd == processInfo3 {
		w.RID = "linux-x64"
	}
	return w
}
