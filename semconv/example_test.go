package semconv_test

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// attributes are those of an event that was received.
type attributes map[string]any

func (a attributes) Text(key string) string { s, _ := a[key].(string); return s }

func (a attributes) Int(key string) (int64, bool) { n, ok := a[key].(int64); return n, ok }

func (a attributes) Float(key string) (float64, bool) { f, ok := a[key].(float64); return f, ok }

func (a attributes) Ints(key string, most int) ([]int64, bool) {
	list, _ := a[key].([]int64)
	n := min(len(list), most)
	return list[:n], n == len(list)
}

// A collection on its way to a backend: as the attributes of an event, and back as
// intervals that a join takes.
func ExampleDecode() {
	const at = stall.Instant(time.Hour)
	c := gc.Collection{
		Index: 7, Cycles: 1, Kind: gc.Background, Origin: stall.GCWatch,
		Start: gc.Known(at), End: gc.Known(at.Add(3 * time.Millisecond)),
		Pauses: []gc.Pause{{Start: at, End: at.Add(200 * time.Microsecond), EndMax: at.Add(200 * time.Microsecond)}},
	}
	event := semconv.Occurrence{Start: at, End: at.Add(3 * time.Millisecond), Origin: stall.GCWatch}
	received := attributes{}
	for _, a := range semconv.AppendCollection(semconv.AppendEvent(nil, &event), &c) {
		received[a.Key] = a.Value.Any()
	}
	fmt.Println(received[semconv.AttrGCKind], received[semconv.AttrGCIndex])

	r, err := semconv.Decode(semconv.EventCollection, received)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := r.Intervals[0]
	fmt.Println(r.Origin, r.Kind, v.Cause, v.Duration(), "of collection", v.Ref)
	// Output:
	// background 7
	// gcwatch background gc.pause 200µs of collection 7
}

// The owners of a request's time, as attributes of its span have them.
func ExampleOwner() {
	s := stall.Share{Total: 20 * time.Millisecond, App: 17 * time.Millisecond}
	s.Charged[stall.GCPause] = 3 * time.Millisecond
	for _, key := range semconv.OwnerKeys() {
		if owner, ok := semconv.OwnerOf(key); ok && *owner.Part(&s) > 0 {
			fmt.Println(key, owner.Part(&s).Seconds())
		}
	}
	// Output:
	// otelgc.stall.gc.pause 0.003
	// otelgc.stall.app 0.017
}
