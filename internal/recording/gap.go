package recording

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// A record of gaps is the ID of their probe, their number, then of each: Start
// less the Start before it (signed), End less Start, cause and scope (a byte
// each), CPU (signed), and its evidence, see below.
// Numbers are varints of encoding/binary.

const (
	// minGap is the least that a gap takes, and maxGap the most.
	minGap = 5
	maxGap = 2*binary.MaxVarintLen64 + 2 + binary.MaxVarintLen32 + maxEvidence
	// gapsOfRecord is how many gaps are written as one record, which they do not
	// make too long whatever their evidence is.
	gapsOfRecord = MaxGaps / 2

	_ = uint(MaxRecord - 1 - 2*binary.MaxVarintLen32 - gapsOfRecord*maxGap) // is not negative
)

func appendGaps(b []byte, list Gaps) []byte {
	b = binary.AppendUvarint(b, uint64(list.Probe))
	b = binary.AppendUvarint(b, uint64(len(list.List)))
	var names nameWriter
	var before stall.Instant
	for i := range list.List {
		g := &list.List[i]
		b = binary.AppendVarint(b, int64(g.Start-before))
		b = binary.AppendUvarint(b, uint64(g.End-g.Start))
		b = append(b, byte(g.Cause), byte(g.Scope))
		b = binary.AppendVarint(b, int64(g.CPU))
		b = appendEvidence(b, &g.Evidence, &names)
		before = g.Start
	}
	return b
}

func parseGaps(b []byte) (Gaps, error) {
	p := payload{rest: b}
	all := Gaps{Probe: int(p.uint(MaxProbes))}
	n := p.uint(MaxGaps)
	switch {
	case p.bad:
		return Gaps{}, fmt.Errorf("%w: %d bytes are not a probe of at most %d and at most %d gaps", ErrFormat, len(b), MaxProbes, MaxGaps)
	case n*minGap > uint64(len(p.rest)):
		return Gaps{}, fmt.Errorf("%w: %d gaps in %d bytes", ErrFormat, n, len(b))
	}
	all.List = make([]jitterprobe.Gap, n)
	var names []string
	var before int64
	for i := range all.List {
		start := before + p.int(maxInstant)
		end := start + int64(p.uint(maxInstant))
		cause, scope := stall.Cause(p.byte()), stall.Scope(p.byte())
		cpu := p.int(math.MaxInt32)
		e := p.evidence(&names)
		switch {
		case p.bad:
			return Gaps{}, fmt.Errorf("%w: gap %d of %d is cut off or out of range", ErrFormat, i+1, n)
		case start < 0 || end > maxInstant || cause >= stall.NumCauses || scope >= stall.NumScopes:
			return Gaps{}, fmt.Errorf("%w: gap %d from %d to %d, cause %d, scope %d", ErrFormat, i+1, start, end, cause, scope)
		}
		all.List[i] = jitterprobe.Gap{Evidence: e, Interval: stall.Interval{
			Start: stall.Instant(start), End: stall.Instant(end), Cause: cause, Scope: scope, CPU: int32(cpu),
		}}
		before = start
	}
	if len(p.rest) > 0 {
		return Gaps{}, fmt.Errorf("%w: %d bytes behind the last gap", ErrFormat, len(p.rest))
	}
	return all, nil
}

// payload takes a payload apart. Once it is bad all it gives is zero.
type payload struct {
	rest []byte
	bad  bool
}

func (p *payload) fail() { p.rest, p.bad = nil, true }

func (p *payload) uint(most uint64) uint64 {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 || v > most {
		p.fail()
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *payload) int(most int64) int64 {
	v, n := binary.Varint(p.rest)
	if n <= 0 || v > most || v < -most {
		p.fail()
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *payload) byte() byte {
	if len(p.rest) == 0 {
		p.fail()
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

func (p *payload) text(length uint64) string {
	if length > uint64(len(p.rest)) {
		p.fail()
		return ""
	}
	text := string(p.rest[:length])
	p.rest = p.rest[length:]
	return text
}

// The evidence of a gap is a byte: its witness, and evidenceMoved if the probe
// was moved. If there is a witness there follow Time, Count and TID, and the
// number of Name among the names of this record, from 1: 0 is no name, and the
// first number that is free has the length of the name and the name behind it.

const (
	evidenceMoved = 0x80
	// maxEvidence is the most that evidence takes.
	maxEvidence = 1 + binary.MaxVarintLen64 + 2*binary.MaxVarintLen32 + 2*binary.MaxVarintLen16 + MaxName
)

// nameWriter numbers the names of a record.
type nameWriter struct{ numbers map[string]uint64 }

func (w *nameWriter) append(b []byte, name string) []byte {
	if name == "" {
		return append(b, 0)
	}
	name = name[:min(len(name), MaxName)]
	if n, ok := w.numbers[name]; ok {
		return binary.AppendUvarint(b, n)
	}
	if w.numbers == nil {
		w.numbers = make(map[string]uint64)
	}
	n := uint64(len(w.numbers) + 1)
	w.numbers[name] = n
	b = binary.AppendUvarint(b, n)
	b = binary.AppendUvarint(b, uint64(len(name)))
	return append(b, name...)
}

func appendEvidence(b []byte, e *jitterprobe.Evidence, names *nameWriter) []byte {
	if e.Witness == jitterprobe.NoWitness {
		return append(b, 0)
	}
	first := byte(e.Witness)
	if e.Moved {
		first |= evidenceMoved
	}
	b = append(b, first)
	b = binary.AppendUvarint(b, uint64(max(0, e.Time)))
	b = binary.AppendUvarint(b, uint64(max(0, e.Count)))
	b = binary.AppendUvarint(b, uint64(max(0, e.TID)))
	return names.append(b, e.Name)
}

// evidence takes what appendEvidence wrote. The names are those of the record so
// far.
func (p *payload) evidence(names *[]string) (e jitterprobe.Evidence) {
	first := p.byte()
	if first == 0 {
		return e
	}
	e.Witness, e.Moved = jitterprobe.Witness(first&^evidenceMoved), first&evidenceMoved != 0
	if e.Witness == jitterprobe.NoWitness || e.Witness >= jitterprobe.NumWitnesses {
		p.fail()
	}
	e.Time = time.Duration(p.uint(maxInstant))
	e.Count, e.TID = int32(p.uint(math.MaxInt32)), int32(p.uint(math.MaxInt32))
	e.Name = p.name(names)
	return e
}

func (p *payload) name(names *[]string) string {
	n := p.uint(uint64(len(*names)) + 1)
	if n == 0 {
		return ""
	}
	if n > uint64(len(*names)) {
		*names = append(*names, p.text(p.uint(MaxName)))
	}
	return (*names)[n-1]
}
