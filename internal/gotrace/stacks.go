package gotrace

import (
	"math/bits"
	"slices"
	"strings"
)

// Frame is one call of a stack.
type Frame struct {
	Function string // such as "runtime.mallocgc"
	File     string
	Line     int
}

// call is a frame as the trace has it: function and file are numbers of strings.
type call struct{ function, file, line uint64 }

// callAt reads the four numbers of a frame, and returns where the next begins.
func callAt(data []byte, i int) (call, int) {
	var c call
	_, i = uvarint(data, i) // pc
	c.function, i = uvarint(data, i)
	c.file, i = uvarint(data, i)
	c.line, i = uvarint(data, i)
	return c, i
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

// frames returns the stack of an id, innermost call first; nil if the
// generation does not hold it. Only the few stacks that somebody asks for are
// ever decoded, and each of them once. The result is valid as long as the
// Generation.
func (d *decoder) frames(id uint64) []Frame {
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
		var c call
		if c, i = callAt(data, i); i > len(d.stacks.data) {
			break // a number longer than any
		}
		d.frameBuf = append(d.frameBuf, Frame{d.text(c.function), d.text(c.file), int(c.line)})
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
		var c call
		if c, i = callAt(data, i); i > len(d.stacks.data) {
			break // a number longer than any
		}
		name := d.bytes(c.function)
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
func callerOf(stack []Frame) (caller, entry string) {
	for _, f := range stack {
		if !strings.HasPrefix(f.Function, runtimePackage) {
			return f.Function, entry
		}
		entry = f.Function
	}
	return entry, ""
}
