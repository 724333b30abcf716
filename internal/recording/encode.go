package recording

import (
	"cmp"
	"encoding/json"
	"slices"
)

// appendGaps makes records of the gaps, of one probe each.
func (w *Writer) appendGaps(gaps []probeGap) {
	slices.SortStableFunc(gaps, func(a, b probeGap) int { return cmp.Compare(a.probe, b.probe) })
	var list []Gap
	for i := range gaps {
		list = append(list, gaps[i].Gap)
		if last := i+1 == len(gaps); last || len(list) == gapsOfRecord || gaps[i+1].probe != gaps[i].probe {
			w.append(Gaps{Probe: gaps[i].probe, List: list})
			list = list[:0]
		}
	}
}

func (w *Writer) append(r Record) {
	body, err := encode(w.body[:0], r)
	if err != nil || len(body) >= MaxRecord {
		w.drop(1)
		return
	}
	w.body = body
	w.buf = appendFrame(w.buf, r.kind(), body)
}

func encode(b []byte, r Record) ([]byte, error) {
	switch r := r.(type) {
	case Gaps:
		return appendGaps(b, r), nil
	case Collection:
		return encodeCollection(r)
	case Doctor:
		return r.RawMessage, nil
	}
	return json.Marshal(r)
}
