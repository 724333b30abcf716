package telemetry

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall/gc"
)

// What an event says of each generation, as arrays parallel to
// semconv.AttrGCGenerations.
const (
	attrSizeBefore = semconv.AttrGCPartPrefix + "size.before"
	attrSizeAfter  = semconv.AttrGCPartPrefix + "size.after"
	attrFragBefore = semconv.AttrGCPartPrefix + "fragmentation.before"
	attrFragAfter  = semconv.AttrGCPartPrefix + "fragmentation.after"
	attrPromoted   = semconv.AttrGCPartPrefix + "promoted"
	attrSurvived   = semconv.AttrGCPartPrefix + "survived"
	attrBudget     = semconv.AttrGCPartPrefix + "budget"
)

// dotnetAttributes returns what only a collection of .NET has.
func dotnetAttributes(c *gc.Collection) []attribute.KeyValue {
	var a attributes
	if v, ok := c.Compacting.Get(); ok {
		a = append(a, attribute.Bool(semconv.AttrGCCompacting, v))
	}
	if v, ok := c.Concurrent.Get(); ok {
		a = append(a, attribute.Bool(semconv.AttrGCConcurrent, v))
	}
	if n, ok := c.Pinned.Get(); ok {
		a.int(semconv.AttrGCPinned, asInt64(n))
	}
	if n, ok := c.Finalizable.Get(); ok {
		a.int(semconv.AttrGCFinalizable, asInt64(n))
	}
	if f, ok := c.MemoryLoad.Get(); ok {
		a.float(semconv.AttrGCMemoryLoad, f)
	}
	a.size(semconv.AttrGCAllocated, c.Allocated)
	a.text(semconv.AttrGCIncomplete, c.Incomplete)
	return append(a, generationAttributes(c.Generations)...)
}

// generationAttributes returns the generations as parallel arrays.
func generationAttributes(all []gc.Generation) []attribute.KeyValue {
	if len(all) == 0 {
		return nil
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].ID.String()
	}
	a := []attribute.KeyValue{attribute.StringSlice(semconv.AttrGCGenerations, names)}
	for _, column := range []struct {
		key string
		of  func(*gc.Generation) gc.Maybe[gc.Bytes]
	}{
		{attrSizeBefore, func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.SizeBefore }},
		{attrSizeAfter, func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.SizeAfter }},
		{attrFragBefore, func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.FragmentationBefore }},
		{attrFragAfter, func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.FragmentationAfter }},
		{attrPromoted, func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Promoted }},
		{attrSurvived, func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Survived }},
		{attrBudget, func(g *gc.Generation) gc.Maybe[gc.Bytes] { return g.Budget }},
	} {
		a = parallel(a, column.key, all, func(g *gc.Generation) (int64, bool) {
			n, known := column.of(g).Get()
			return asInt64(n), known
		})
	}
	return a
}

// parallel appends an array with a number of each of all, under key: none if no
// number is known, and -1 for one that is not.
func parallel[T any](a []attribute.KeyValue, key string, all []T, of func(*T) (int64, bool)) []attribute.KeyValue {
	values, some := make([]int64, len(all)), false
	for i := range all {
		n, known := of(&all[i])
		values[i] = -1
		if known {
			values[i], some = n, true
		}
	}
	if !some {
		return a
	}
	return append(a, attribute.Int64Slice(key, values))
}
