package recording

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// A record of gaps is the ID of their probe, their number, then of each: Start
// less the Start before it (signed), End less Start, cause and scope (a byte
// each), CPU (signed), and its evidence.
//
// The evidence is a byte: its witness, and evidenceMoved if the probe was moved. If
// there is a witness there follow Time, Count and TID, and the number of Name among the
// names of this record, from 1: 0 is no name, and the first number that is free has the
// length of the name and the name behind it.
//
// Numbers are varints of encoding/binary.
const (
	evidenceMoved = 0x80
	// maxEvidence is the most that evidence takes.
	maxEvidence = 1 + binary.MaxVarintLen64 + 2*binary.MaxVarintLen32 + 2*binary.MaxVarintLen16 + MaxName
	// minGap is the least that a gap takes, and maxGap the most.
	minGap = 5
	maxGap = 2*binary.MaxVarintLen64 + 2 + binary.MaxVarintLen32 + maxEvidence
	// gapsOfRecord is how many gaps are written as one record, which they do not
	// make too long whatever their evidence is.
	gapsOfRecord = MaxGaps / 2

	_ = uint(MaxRecord - 1 - 2*binary.MaxVarintLen32 - gapsOfRecord*maxGap) // is not negative
)

// coder writes the values that it is given, or reads them, in the one order that both
// have. Once it is bad all that it reads is zero.
type coder struct {
	b       []byte // written so far, or left to read
	read    bool
	bad     bool
	names   []string       // of this record so far, of a reader
	numbers map[string]int // of its names, of a writer
}

func appendGaps(b []byte, list Gaps) []byte {
	c := coder{b: b, numbers: make(map[string]int)}
	_ = c.gaps(&list) // it writes what it is given
	return c.b
}

func parseGaps(b []byte) (Record, error) {
	var all Gaps
	c := coder{b: b, read: true}
	err := c.gaps(&all)
	if err == nil && len(c.b) > 0 {
		err = fmt.Errorf("%w: %d bytes behind the last gap", ErrFormat, len(c.b))
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (c *coder) gaps(all *Gaps) error {
	n, size := len(all.List), len(c.b)
	unsigned(c, &all.Probe, MaxProbes)
	unsigned(c, &n, MaxGaps)
	switch {
	case c.bad:
		return fmt.Errorf("%w: %d bytes are not a probe of at most %d and at most %d gaps", ErrFormat, size, MaxProbes, MaxGaps)
	case c.read && n*minGap > len(c.b):
		return fmt.Errorf("%w: %d gaps in %d bytes", ErrFormat, n, size)
	case c.read:
		all.List = make([]jitterprobe.Gap, n)
	}
	var before stall.Instant
	for i := range all.List {
		g := &all.List[i]
		after, length := g.Start-before, g.End-g.Start
		signed(c, &after, maxInstant)
		unsigned(c, &length, maxInstant)
		one(c, &g.Cause)
		one(c, &g.Scope)
		signed(c, &g.CPU, math.MaxInt32)
		c.evidence(&g.Evidence)
		g.Start = before + after
		g.End = g.Start + length
		switch {
		case c.bad:
			return fmt.Errorf("%w: gap %d of %d is cut off or out of range", ErrFormat, i+1, n)
		case c.read && (g.Start < 0 || g.End > maxInstant || g.Cause >= stall.NumCauses || g.Scope >= stall.NumScopes):
			return fmt.Errorf("%w: gap %d from %d to %d, cause %d, scope %d", ErrFormat, i+1, g.Start, g.End, g.Cause, g.Scope)
		}
		before = g.Start
	}
	return nil
}

func (c *coder) evidence(e *jitterprobe.Evidence) {
	first := e.Witness
	if e.Moved && first != jitterprobe.NoWitness {
		first |= evidenceMoved
	}
	if one(c, &first); first == 0 {
		return
	}
	e.Witness, e.Moved = first&^evidenceMoved, first&evidenceMoved != 0
	if c.read && (e.Witness == jitterprobe.NoWitness || e.Witness >= jitterprobe.NumWitnesses) {
		c.fail()
	}
	unsigned(c, &e.Time, maxInstant)
	unsigned(c, &e.Count, math.MaxInt32)
	unsigned(c, &e.TID, math.MaxInt32)
	if c.read {
		e.Name = c.readName()
	} else {
		c.writeName(e.Name[:min(len(e.Name), MaxName)])
	}
}

func (c *coder) writeName(name string) {
	n, known := c.numbers[name]
	if !known && name != "" {
		n = len(c.numbers) + 1
		c.numbers[name] = n
	}
	c.b = binary.AppendUvarint(c.b, uint64(n))
	if !known && name != "" {
		c.b = binary.AppendUvarint(c.b, uint64(len(name)))
		c.b = append(c.b, name...)
	}
}

func (c *coder) readName() string {
	var n, length int
	if unsigned(c, &n, uint64(len(c.names))+1); n == 0 {
		return ""
	}
	if n > len(c.names) {
		if unsigned(c, &length, MaxName); length > len(c.b) {
			c.fail()
			length = 0
		}
		c.names = append(c.names, string(c.b[:length]))
		c.b = c.b[length:]
	}
	return c.names[n-1]
}

func (c *coder) fail() { c.b, c.bad = nil, true }

// unsigned codes a number from 0 to most. What is below is written as 0.
func unsigned[T ~int | ~int32 | ~int64](c *coder, v *T, most uint64) {
	if !c.read {
		c.b = binary.AppendUvarint(c.b, uint64(max(0, *v)))
		return
	}
	u, n := binary.Uvarint(c.b)
	if n <= 0 || u > most {
		c.fail()
		u, n = 0, 0
	}
	*v, c.b = T(u), c.b[n:]
}

// signed codes a number from -most to most.
func signed[T ~int32 | ~int64](c *coder, v *T, most int64) {
	if !c.read {
		c.b = binary.AppendVarint(c.b, int64(*v))
		return
	}
	i, n := binary.Varint(c.b)
	if n <= 0 || i > most || i < -most {
		c.fail()
		i, n = 0, 0
	}
	*v, c.b = T(i), c.b[n:]
}

// one codes a byte.
func one[T ~uint8](c *coder, v *T) {
	switch {
	case !c.read:
		c.b = append(c.b, byte(*v))
	case len(c.b) == 0:
		c.fail()
		*v = 0
	default:
		*v, c.b = T(c.b[0]), c.b[1:]
	}
}
