package recording

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
)

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
