package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// payload takes a payload apart. The first error stays.
type payload struct {
	rest []byte
	err  error
}

func (p *payload) fail(err error) {
	if p.err == nil {
		p.err = err
		p.rest = nil
	}
}

func (p *payload) uint() uint64 {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 {
		p.fail(truncated(n))
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *payload) int() int64 {
	v, n := binary.Varint(p.rest)
	if n <= 0 {
		p.fail(truncated(n))
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func truncated(n int) error {
	if n < 0 {
		return errors.New("varint does not fit 64 bits")
	}
	return io.ErrUnexpectedEOF
}

// maxDuration bounds every duration: a day, far from any overflow of sums.
const maxDuration = 24 * time.Hour

func (p *payload) duration() time.Duration {
	v := p.uint()
	if v > uint64(maxDuration) {
		p.fail(fmt.Errorf("duration of %d ns, at most %v", v, maxDuration))
		return 0
	}
	return time.Duration(v)
}

// after returns an instant that is written as the difference to t.
func (p *payload) after(t stall.Instant) stall.Instant {
	d := p.int()
	u := t + stall.Instant(d)
	if (d > 0) != (u > t) && d != 0 || u < 0 {
		p.fail(fmt.Errorf("instant %d%+d ns is out of range", t, d))
		return 0
	}
	return u
}

// limit returns a number that has to be below n.
func (p *payload) limit(what string, n uint64) uint64 {
	v := p.uint()
	if v >= n {
		p.fail(fmt.Errorf("%s %d, want less than %d", what, v, n))
		return 0
	}
	return v
}

// end returns the first error, or that something is left over.
func (p *payload) end(k Kind) error {
	if p.err == nil && len(p.rest) > 0 {
		p.err = fmt.Errorf("%d bytes are left over", len(p.rest))
	}
	if p.err != nil {
		return fmt.Errorf("decode frame %q: %w", k, p.err)
	}
	return nil
}
