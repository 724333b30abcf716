package recording

import (
	"cmp"
	"encoding/json"
	"slices"
)

// appendGapFrames appends records of the gaps, of one probe each.
func appendGapFrames(frames []byte, gaps []probeGap) []byte {
	slices.SortStableFunc(gaps, func(a, b probeGap) int { return cmp.Compare(a.probe, b.probe) })
	var list []Gap
	var body []byte
	for i := range gaps {
		list = append(list, gaps[i].Gap)
		if last := i+1 == len(gaps); last || len(list) == gapsOfRecord || gaps[i+1].probe != gaps[i].probe {
			body = appendGaps(body[:0], Gaps{Probe: gaps[i].probe, List: list})
			frames = appendFrame(frames, KindGaps, body)
			list = list[:0]
		}
	}
	return frames
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
