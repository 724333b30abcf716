package e2e

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// shop is a service whose spans are compared with what it says of them itself.
type shop struct {
	*process
	place
	service string
	gate    *os.File
}

// startShop starts a shop, as prepare says and by another program that becomes it. It
// works from when begin is called.
func (p place) startShop(t *testing.T, prepare func(*exec.Cmd), by []string, service string, env []string, args ...string) *shop {
	t.Helper()
	in, gate, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gate.Close() }) // it may be closed
	s := startBy(t, by, func(c *exec.Cmd) { c.Stdin = in; prepare(c) }, env, p.shop, args...)
	_ = in.Close() // the shop has it
	return &shop{s, p, service, gate}
}

// begin lets it work, when it has told its first status: before that nobody outside
// can know that it was watched.
func (s *shop) begin(t *testing.T) {
	t.Helper()
	s.hear(t, s.service, stall.GCWatch, 0, s.process)
	if _, err := s.gate.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
}

// work lets it work, and waits until all that it told has come. It has the spans still,
// if it is to export them last: where several sources tell of a machine, none is waited
// for that is seconds behind another, which is what a slow machine does to one of them.
func (s *shop) work(t *testing.T) {
	t.Helper()
	s.begin(t)
	var until int64
	eventually(t, "the work of "+s.service, func() (err error) {
		m := toldUntil.FindStringSubmatch(s.output())
		if m == nil {
			return errors.New("it has not told all")
		}
		until, err = strconv.ParseInt(m[1], 10, 64)
		return err
	}, append(s.ps, s.process)...)
	eventually(t, "the last status of "+s.service, func() error {
		for _, e := range s.events() {
			if end, _ := e.attrs[semconv.AttrEnd].(int64); e.service == s.service && e.name == semconv.EventSourceStatus && end >= until {
				return nil
			}
		}
		return errors.New("it has not come")
	}, append(s.ps, s.process)...)
}

var toldUntil = regexp.MustCompile(`told all until (\d+)\n`)

// finish lets it hand over what it has, and waits until it has ended, well.
func (s *shop) finish(t *testing.T) {
	t.Helper()
	_ = s.gate.Close()
	s.succeed(t)
}
