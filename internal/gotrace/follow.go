package gotrace

import (
	"bytes"
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
