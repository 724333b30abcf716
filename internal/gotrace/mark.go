package gotrace

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/stall"
)

// Mark is a user log whose category has the MarkPrefix. Its goroutine is
// followed from then on, unless no tracks are wanted.
type Mark struct {
	At        stall.Instant
	Goroutine uint64
	Key       string // the whole category
}

// userLog is an EvUserLog whose category is not known yet.
type userLog struct {
	g   uint64
	at  ticks
	key uint64
}

func (d *decoder) userLog(t *thread, at ticks, key uint64) {
	if !d.following {
		return
	}
	if len(d.logs) < d.limits.Records {
		d.logs = append(d.logs, userLog{t.g, at, key})
	} else {
		d.lost.Marks++
	}
}

// followed is what is known of a followed goroutine at the end of the last
// generation.
type followed struct {
	known  bool
	state  stall.State
	reason string
	turn   bool   // parked until it is its turn to collect
	away   uint64 // it switched to a coroutine, and this one has its place now
}

// resolveMarks reports the marks and starts to follow their goroutines, if there
// are to be Tracks.
func (d *decoder) resolveMarks(g *Generation) {
	for i := range d.logs {
		l := &d.logs[i]
		key, ok := d.markKey(l.key)
		if !ok {
			continue
		}
		g.Marks = append(g.Marks, Mark{d.clock.instant(l.at), l.g, key})
		if d.tracking {
			d.follow(l.g)
		}
	}
	g.Marks = d.markOrder.sort(g.Marks, func(a, b *Mark) bool { return a.At < b.At })
}

// markKey returns the category of a user log if it makes a mark. Others are not
// kept: there may be any number of them.
func (d *decoder) markKey(id uint64) (string, bool) {
	if id < cachedTexts && d.texts[id] != "" {
		return d.texts[id], strings.HasPrefix(d.texts[id], d.markPrefix)
	}
	if !bytes.HasPrefix(d.bytes(id), []byte(d.markPrefix)) {
		return "", false
	}
	return d.text(id), true
}

func (d *decoder) follow(g uint64) {
	if g == 0 {
		return
	}
	if _, ok := d.followed[g]; ok {
		return
	}
	if len(d.followed) >= d.limits.Followed {
		d.lost.Followed++
		return
	}
	d.followed[g] = followed{}
}

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
