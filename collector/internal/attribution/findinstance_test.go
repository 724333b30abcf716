package attribution

import (
	"testing"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestFoundByInstance: a span meets its process by the service.instance.id that the process
// itself goes by, where the machine says nothing else; what the sidecar made up says nothing.
func TestFoundByInstance(t *testing.T) {
	const (
		uuid, another = "0b7d1c38-6d5f-4a6e-9a3a-0f4b1d3f9c11", "7c1d1c38-6d5f-4a6e-9a3a-0f4b1d3f9c22"
		instance      = wire.AttrInstanceID
		name          = wire.AttrServiceName
	)
	madeUp := m{instance: another, semconv.AttrInstanceSource: semconv.StampSidecar}
	and := func(a, b m) m {
		all := m{}
		for _, x := range []m{a, b} {
			for k, v := range x {
				all[k] = v
			}
		}
		return all
	}
	shop, container := m{name: "shop", instance: "shop-0"}, m{"container.id": "a"}
	for what, x := range map[string]struct {
		sides
		found, ambiguous bool
	}{
		"a UUID alone":                              {sides{one: m{instance: uuid}, span: m{instance: uuid}, bare: true}, true, false},
		"a UUID alone, of several processes":        {sides{one: m{instance: uuid}, two: m{instance: another}, pids: [3]int64{8, 9, -1}, span: m{instance: uuid}, bare: true}, true, false},
		"a UUID, whatever the service is called":    {sides{one: m{name: "cart", instance: uuid}, span: m{instance: uuid}, bare: true}, true, false},
		"a name of an instance and its service":     {sides{one: shop, span: shop, bare: true}, true, false},
		"of another service":                        {sides{one: m{name: "cart", instance: "shop-0"}, span: shop, bare: true}, false, false},
		"of another namespace":                      {sides{one: and(shop, m{"service.namespace": "prod"}), span: and(shop, m{"service.namespace": "test"}), bare: true}, false, false},
		"of no service":                             {sides{one: m{instance: "1"}, span: m{instance: "1"}, bare: true}, false, false},
		"two go by it":                              {sides{one: m{instance: uuid}, two: m{instance: uuid}, pids: [3]int64{8, 9, -1}, span: m{instance: uuid}, bare: true}, false, true},
		"two go by it, and the pid says which":      {sides{one: m{instance: uuid}, two: m{instance: uuid}, pids: [3]int64{8, 9, 8}, span: m{instance: uuid}, bare: true}, true, false},
		"two go by it, and the container says":      {sides{one: and(m{instance: uuid}, container), two: m{instance: uuid}, pids: [3]int64{8, 9, -1}, span: and(m{instance: uuid}, container), bare: true}, true, false},
		"another goes by it, outside the container": {sides{one: container, two: m{instance: uuid}, pids: [3]int64{8, 9, -1}, span: and(m{instance: uuid}, container), bare: true}, true, false},
		"another goes by it in another container":   {sides{one: and(m{instance: uuid}, container), span: m{instance: uuid, "container.id": "b"}, bare: true}, false, false},
		"another goes by it on another machine":     {sides{one: m{instance: uuid, "host.id": "x"}, pids: [3]int64{8, 9, -1}, span: m{instance: uuid, "host.id": "y"}, bare: true}, false, false},
		"of two in a container the one that has it": {sides{one: and(m{instance: uuid}, container), two: and(madeUp, container), pids: [3]int64{8, 9, -1}, span: and(m{instance: uuid}, container), bare: true}, true, false},
		"two in a container have it":                {sides{one: and(m{instance: uuid}, container), two: and(m{instance: uuid}, container), pids: [3]int64{8, 9, -1}, span: and(m{instance: uuid}, container), bare: true}, false, true},
		"of an SDK, and one made up: boot and pid":  {sides{one: madeUp, span: m{instance: uuid}}, true, false},
		"of an SDK, and one made up: container":     {sides{one: and(madeUp, container), pids: [3]int64{8, 9, -1}, span: and(m{instance: uuid}, container), bare: true}, true, false},
		"of an SDK, and one made up: host and pid":  {sides{one: and(madeUp, m{"host.id": "x"}), span: m{instance: uuid, "host.id": "x"}, bare: true}, true, false},
		"of an SDK, and another chosen":             {sides{one: and(m{instance: another}, container), pids: [3]int64{8, 9, -1}, span: and(m{instance: uuid}, container), bare: true}, false, false},
		"one made up leads to none":                 {sides{one: madeUp, pids: [3]int64{8, 9, -1}, span: m{instance: another}, bare: true}, false, false},
		"one made up proves nothing":                {sides{one: madeUp, pids: [3]int64{1, 9, 1}, span: m{instance: another}}, false, false},
		"two made up of one pid are two":            {sides{one: madeUp, two: m{instance: uuid, semconv.AttrInstanceSource: semconv.StampSidecar}, pids: [3]int64{1, 1, 1}, span: m{}}, false, false},
		"all zeros are no UUID":                     {sides{one: m{instance: "00000000-0000-0000-0000-000000000000"}, span: m{instance: "00000000-0000-0000-0000-000000000000"}, bare: true}, false, false},
	} {
		paused, lost := x.charged(t)
		if paused != x.found || lost.SpansAmbiguous > 0 != x.ambiguous {
			t.Errorf("%s: charged %v, lost %+v; want charged %v, ambiguous %v", what, paused, lost, x.found, x.ambiguous)
		}
	}
}

// TestInstanceIsAClaim: behind agents the word of a process that an agent stamped goes before
// that of any sender that goes by the same instance.
func TestInstanceIsAClaim(t *testing.T) {
	const uuid = "0b7d1c38-6d5f-4a6e-9a3a-0f4b1d3f9c11"
	a, c := New(Config{Probes: ProbesStamped}), new(catcher)
	honest, liar := newSender(), newSender()
	honest.with = m{wire.AttrInstanceID: uuid, semconv.AttrStamp: semconv.StampSidecar}
	liar.pid, liar.boot, liar.with = 43, "another", m{wire.AttrInstanceID: uuid}
	a.Learn(honest.status(stall.GoUprobe, 99*sec))
	a.Learn(honest.status(stall.GoUprobe, 101*sec))
	a.Learn(liar.status(stall.GoUprobe, 99*sec))
	a.Learn(liar.collection(stall.GoUprobe, 1, 100*sec+ms, 100*sec+4*ms, 0))
	a.Learn(liar.status(stall.GoUprobe, 101*sec))
	s := newSender()
	s.bare, s.pid, s.with = true, 0, m{wire.AttrInstanceID: uuid}
	a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
	a.Flush()
	if got := floats(c.spans[0].Attributes()); got["otelgc.stall.gc.pause"] > 0 || got["otelgc.stall.coverage"] != 1 {
		t.Errorf("charges %v, want those of the process that an agent stamped: none", got)
	}
}
