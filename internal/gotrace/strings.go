package gotrace

import (
	"math/bits"
	"slices"
	"strings"
)

// table holds the batches of strings, or of stacks, of one generation, and
// where in them each id is. The batches come in any place of the generation
// and are indexed once, at its end.
type table struct {
	data  []byte   // the batches one after the other, with slop at the end
	ends  []int    // where each batch ends in data
	first []int64  // the stream offset of each batch
	refs  []uint64 // by id: 1 + index into data of what follows the id; 0 if absent
}

// batchNote is what is noted of each batch, which may hold nothing.
const batchNote = 16

// keep copies a batch, without its first byte. It reports false if the limit
// does not allow it.
func (t *table) keep(data []byte, offset int64, limit int) bool {
	if len(t.data)+len(data)+batchNote*(len(t.ends)+1) > limit {
		return false
	}
	t.data = append(t.data, data[1:]...)
	t.ends = append(t.ends, len(t.data))
	t.first = append(t.first, offset+1)
	return true
}

func (t *table) reset() {
	t.data, t.ends, t.first, t.refs = t.data[:0], t.ends[:0], t.first[:0], t.refs[:0]
}

// index finds every entry: a type byte, an id, and what skip jumps over. It
// returns the number of ids over the limit, or an error at its stream offset.
func (t *table) index(entry eventType, maxID int, skip func(data []byte, i int) (int, error)) (lost uint64, at int64, err error) {
	var zeros [slop]byte
	data := append(t.data, zeros[:]...)
	t.data = data[:len(t.data)]
	start := 0
	for k, end := range t.ends {
		for i := start; i < end; {
			at = t.first[k] + int64(i-start)
			if eventType(data[i]) != entry {
				return lost, at, broken("event %d in a table of event %d", data[i], entry)
			}
			id, body := uvarint(data[:end+slop], i+1)
			if body < end {
				if i, err = skip(data[:end+slop], body); err != nil {
					return lost, at, err
				}
			}
			if body >= end || i > end {
				return lost, at, broken("table ends within an entry")
			}
			if id > uint64(maxID) {
				lost++
				continue
			}
			t.set(id, body)
		}
		start = end
	}
	return lost, 0, nil
}

func (t *table) set(id uint64, body int) {
	if n := len(t.refs); uint64(n) <= id {
		for cap(t.refs) <= int(id) {
			t.refs = append(t.refs[:cap(t.refs)], 0)
		}
		t.refs = t.refs[:id+1]
		clear(t.refs[n:])
	}
	t.refs[id] = uint64(body) + 1
}

// entry returns the index of the id's body, and whether it is there.
func (t *table) entry(id uint64) (int, bool) {
	if id >= uint64(len(t.refs)) || t.refs[id] == 0 {
		return 0, false
	}
	return int(t.refs[id] - 1), true
}

// skipString jumps over the length and the bytes of a string.
func skipString(data []byte, i int) (int, error) {
	n, i := uvarint(data, i)
	if n > MaxStringBytes {
		return 0, overLimit("string bytes", int64(min(n, 1<<62)), MaxStringBytes)
	}
	return i + int(n), nil
}

// bytes returns the string of an id; nil if the generation does not hold it.
// It is valid until the generation ends.
func (d *decoder) bytes(id uint64) []byte {
	i, ok := d.strings.entry(id)
	if !ok {
		return nil
	}
	data := d.strings.data
	n, i := uvarint(data[:cap(data)], i)
	return data[i : i+int(n)]
}

// cachedTexts is the number of string ids of a generation whose text is looked
// up once only. The runtime registers its reasons first, so they are below it.
const cachedTexts = 4096

// text returns the string of an id, kept across generations.
func (d *decoder) text(id uint64) string {
	if id >= cachedTexts {
		return d.names.intern(d.bytes(id))
	}
	if d.texts[id] == "" {
		d.texts[id] = d.names.intern(d.bytes(id))
	}
	return d.texts[id]
}

// names keeps one copy of each string that was ever reported, so that the
// steady state allocates nothing.
type names struct {
	known map[string]string
	limit int
}

// next forgets the names if there are too many, between two generations: within one
// that would make a new copy of a text each time that it is reported.
func (n *names) next() {
	if len(n.known) > n.limit {
		n.known = nil
	}
}

func (n *names) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := n.known[string(b)]; ok {
		return s
	}
	if n.known == nil {
		n.known = make(map[string]string)
	}
	s := string(b)
	n.known[s] = s
	return s
}

// functionAt reads the four numbers of a frame (pc, function, file, line), and
// returns the function and where the next frame begins.
func functionAt(data []byte, i int) (function uint64, next int) {
	_, i = uvarint(data, i)
	function, i = uvarint(data, i)
	_, i = uvarint(data, i)
	_, i = uvarint(data, i)
	return function, i
}

// skipStack jumps over the frames of a stack: their number, and four numbers
// each (pc, function, file, line).
func skipStack(data []byte, i int) (int, error) {
	n, i := uvarint(data, i)
	if n > MaxFrames {
		return 0, overLimit("frames", int64(min(n, 1<<62)), MaxFrames)
	}
	end := len(data) - slop
	left := 4 * int(n)
	for left >= 8 && i < end { // eight bytes end at most eight numbers
		left -= bits.OnesCount64(loadWord(data, i).ends())
		i += 8
	}
	for ; left > 0 && i < end; i++ {
		if data[i] < 0x80 { // the last byte of a number
			left--
		}
	}
	if left > 0 {
		return end + 1, nil
	}
	return i, nil
}

// frames returns the functions of the stack of an id, innermost call first; nil if the
// generation does not hold it. Only the few stacks that are asked for are
// ever decoded, and each of them once. The result is valid as long as the
// Generation.
func (d *decoder) frames(id uint64) []string {
	if stack, ok := d.asked[id]; ok {
		return stack
	}
	i, ok := d.stacks.entry(id)
	if !ok {
		return nil
	}
	data := d.stacks.data
	data = data[:cap(data)]
	n, i := uvarint(data, i)
	start := len(d.frameBuf)
	if start+int(n) > d.limits.Records {
		d.lost.Stacks++
		return nil
	}
	for range n {
		var function uint64
		if function, i = functionAt(data, i); i > len(d.stacks.data) {
			break // a number longer than any
		}
		d.frameBuf = append(d.frameBuf, d.text(function))
	}
	d.asked[id] = d.frameBuf[start:len(d.frameBuf):len(d.frameBuf)]
	return d.asked[id]
}

// calls reports whether one of the functions is in a stack.
func (d *decoder) calls(id uint64, functions []string) bool {
	i, ok := d.stacks.entry(id)
	if !ok {
		return false
	}
	data := d.stacks.data
	data = data[:cap(data)]
	n, i := uvarint(data, i)
	for range n {
		var function uint64
		if function, i = functionAt(data, i); i > len(d.stacks.data) {
			break // a number longer than any
		}
		name := d.bytes(function)
		if slices.ContainsFunc(functions, func(f string) bool { return f == string(name) }) {
			return true
		}
	}
	return false
}

// runtimePackage is the prefix of functions of package runtime itself; those
// of runtime/debug and the like do not have it.
const runtimePackage = "runtime."

// callerOf returns the innermost function outside package runtime and the
// runtime's function that it called; without one, the outermost function.
func callerOf(stack []string) (caller, entry string) {
	for _, f := range stack {
		if !strings.HasPrefix(f, runtimePackage) {
			return f, entry
		}
		entry = f
	}
	return entry, ""
}
