package attribution

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// text returns a string attribute, empty if it is too long to be what it should.
func text(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeStr && len(v.Str()) <= maxName {
		return v.Str()
	}
	return ""
}

func number(m pcommon.Map, key string) (int64, bool) {
	if v, ok := m.Get(key); ok && v.Type() == pcommon.ValueTypeInt {
		return v.Int(), true
	}
	return 0, false
}

// readCgroups reads the cgroups that a process says it is in.
func readCgroups(a pcommon.Map) (ids []uint64) {
	list := integers(a, semconv.AttrCgroupIDs)
	for i := range min(list.Len(), maxCgroups) {
		if id := list.At(i).Int(); id > 0 {
			ids = append(ids, uint64(id))
		}
	}
	return ids
}

func sane(v stall.Interval) bool {
	return v.Start > 0 && v.End >= v.Start && v.End <= latest && v.End-v.Start <= longest && v.Slack >= 0 && v.Slack <= maxSlack
}

func instant(a pcommon.Map, key string) stall.Instant {
	n, _ := number(a, key)
	return stall.Instant(n)
}

// integers returns an attribute that is a list, an empty one if there is none. An
// element that is no integer reads as zero, which no instant is.
func integers(a pcommon.Map, key string) pcommon.Slice {
	if v, ok := a.Get(key); ok && v.Type() == pcommon.ValueTypeSlice {
		return v.Slice()
	}
	return pcommon.NewSlice()
}

func parseSource(name string) stall.Origin {
	for s := stall.NoOrigin + 1; s < stall.NumOrigins; s++ {
		if s.String() == name {
			return s
		}
	}
	return stall.NoOrigin
}

func parseScope(name string) (stall.Scope, bool) {
	for s := stall.ScopeProcess; s < stall.NumScopes; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

func parseKind(name string) gc.Kind {
	for k := gc.NoKind + 1; k < gc.NumKinds; k++ {
		if k.String() == name {
			return k
		}
	}
	return gc.NoKind
}
