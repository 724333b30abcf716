package wire

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/semconv"
)

// TestResourceIsReadOnce: a resource with many attributes and many events costs one look
// through its attributes, and none if no event is one of ours: what the attributes say
// after that look changes nothing.
func TestResourceIsReadOnce(t *testing.T) {
	attributes := pcommon.NewMap()
	attributes.PutStr(semconv.AttrBootID, "first")
	of := &Resource{Attributes: attributes}
	parse := func(name string) (boot string, ours bool) {
		r := plog.NewLogRecord()
		r.SetEventName(name)
		r.Attributes().PutStr(semconv.AttrSource, "probe.spin")
		r.Attributes().PutInt(semconv.AttrStart, 1)
		r.Attributes().PutInt(semconv.AttrEnd, 2)
		r.Attributes().PutStr(semconv.AttrCause, "host.steal")
		r.Attributes().PutStr(semconv.AttrScope, "machine")
		e, ours, err := ParseEvent(r, of)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return e.Sender.Boot, ours
	}
	if _, ours := parse("another's"); ours || of.read {
		t.Fatal("an event that is not ours was taken, or its resource was read")
	}
	for _, then := range []string{"second", "third"} {
		if boot, ours := parse(semconv.EventGap); boot != "first" || !ours {
			t.Errorf("the sender is of boot %q, want first: the resource was read again", boot)
		}
		attributes.PutStr(semconv.AttrBootID, then)
	}
}
