package gotrace

import "strconv"

// WindowMark is what a user log of package otelgc says of a window. Its category
// is [WindowMarks], the letter, a dot and the number of the window's slot. A slot
// is one window's at a time.
type WindowMark byte

// The marks of a window.
const (
	WindowBegin WindowMark = 'b' // on the goroutine that carries it
	WindowEnd   WindowMark = 'e' // on that goroutine too
	WindowOver  WindowMark = 'o' // its end, on no goroutine in particular
	WindowJoin  WindowMark = 'j' // a child goroutine is at work for it
	WindowLeave WindowMark = 'l' // and no longer
)

const (
	// WindowMarks is the prefix that they have in common, see Options.MarkPrefix.
	WindowMarks = "otelgc."
	// WindowSlots is how many slots there are.
	WindowSlots = 4096
)

// Key returns the category by which the mark is made for a slot.
func (m WindowMark) Key(slot int16) string {
	return WindowMarks + string(rune(m)) + "." + strconv.Itoa(int(slot))
}

// ParseWindowMark returns what a category says, and of which slot; false if it is
// not of a window.
func ParseWindowMark(key string) (m WindowMark, slot int16, ok bool) {
	const letter, digits = len(WindowMarks), len(WindowMarks) + 2
	if len(key) <= digits || len(key) > digits+4 || key[:letter] != WindowMarks || key[letter+1] != '.' {
		return 0, 0, false
	}
	switch m = WindowMark(key[letter]); m {
	case WindowBegin, WindowEnd, WindowOver, WindowJoin, WindowLeave:
	default:
		return 0, 0, false
	}
	n := 0
	for _, c := range []byte(key[digits:]) {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		n = 10*n + int(c-'0')
	}
	if n >= WindowSlots {
		return 0, 0, false
	}
	return m, int16(n), true
}
