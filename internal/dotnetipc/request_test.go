package dotnetipc

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRequestBytes holds the payloads to the layouts that the runtimes read.
func TestRequestBytes(t *testing.T) {
	q := Request{BufferMB: 4, Providers: []Provider{{Name: "AB", Keywords: 1, Level: 4, Events: []uint32{1, 205}}}}
	const (
		buffer   = "04000000"
		format   = "01000000"
		provider = "01000000" + "0100000000000000" + "04000000" + "03000000" + "410042000000" + "00000000"
	)
	for _, c := range []struct {
		cmd  command
		want string
	}{
		{collectTracing2, buffer + format + "00" + provider},
		{collectTracing3, buffer + format + "00" + "00" + provider},
		{collectTracing4, buffer + format + "0000000000000000" + "00" + provider},
		{collectTracing5, "00000000" + buffer + format + "0000000000000000" + "00" + provider + "01" + "02000000" + "01000000" + "cd000000"},
	} {
		if diff := cmp.Diff(c.want, hex.EncodeToString(q.encode(c.cmd))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.cmd, diff)
		}
	}
	q.Providers[0].Events = nil
	if got := hex.EncodeToString(q.encode(collectTracing5)); !strings.HasSuffix(got, "00000000"+"00"+"00000000") {
		t.Errorf("without an event list: got ...%s, want a list of nothing to leave out", got[len(got)-18:])
	}
	if got := hex.EncodeToString((&Request{}).encode(collectTracing2)); !strings.HasPrefix(got, "10000000") {
		t.Errorf("default buffer: got %s, want 16 MB", got[:8])
	}
}

func TestRequestCheck(t *testing.T) {
	runtime := Provider{Name: "Microsoft-Windows-DotNETRuntime", Keywords: 1, Level: 4}
	with := func(change func(*Provider)) Request {
		p := runtime
		change(&p)
		return Request{Providers: []Provider{runtime, p}}
	}
	induced := with(func(p *Provider) { p.Keywords |= KeywordGCHeapCollect })
	for _, c := range []struct {
		q    Request
		want string
	}{
		{with(func(*Provider) {}), ""},
		{Request{}, "no provider"},
		{with(func(p *Provider) { p.Name = "" }), "has no name"},
		{with(func(p *Provider) { p.Level = 6 }), "level 6"},
		{with(func(p *Provider) { p.Keywords |= KeywordGCHeapDump }), "leave 0x100000 out"},
		{induced, "leave 0x800000 out"},
	} {
		err := c.q.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("check %+v: got %v, want %q", c.q, err, c.want)
		}
	}
	if err := induced.check(); !errors.Is(err, ErrInduces) {
		t.Errorf("induced: got %v, want ErrInduces", err)
	}
	induced.Induce = true
	if err := induced.check(); err != nil {
		t.Errorf("induced, as asked for: got %v", err)
	}
}
