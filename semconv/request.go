package semconv

import (
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Owner is who had a part of a request's time.
type Owner stall.Part

// The owners besides the causes.
const (
	App       = Owner(stall.App)
	AppOrHost = Owner(stall.AppOrHost)
	Uncertain = Owner(stall.Uncertain)
	Unseen    = Owner(stall.Unseen)
	NumOwners = Owner(stall.NumParts)
)

// String returns the value of [AttrCause] for o.
func (o Owner) String() string { return stall.Part(o).String() }

// Part returns where s holds the time of o.
func (o Owner) Part(s *stall.Share) *time.Duration { return s.Of(stall.Part(o)) }

var ownerKeys = func() (keys [NumOwners]string) {
	for o := range NumOwners {
		keys[o] = AttrStallPrefix + o.String()
	}
	return keys
}()

// Key returns the attribute that holds the time of o, such as
// "otelgc.stall.gc.pause".
func (o Owner) Key() string { return ownerKeys[o] }

var ownerOf = func() map[string]Owner {
	owners := make(map[string]Owner, NumOwners)
	for o := Owner(stall.GCPause); o < NumOwners; o++ {
		owners[o.Key()] = o
	}
	return owners
}()

// OwnerOf returns the owner whose time an attribute holds.
func OwnerOf(key string) (Owner, bool) {
	o, ok := ownerOf[key]
	return o, ok
}

// OwnerKeys returns the attributes of all owners.
func OwnerKeys() []string { return ownerKeys[1:] }

// Slow is a slow request.
type Slow struct {
	TraceID, SpanID, Route string // empty if not known
	Share                  *stall.Share
	Collections            int
	Sentence               string
	Capture, NotCaptured   string // empty if captures are not asked for
}

// SlowFields are the further attributes of [EventSlowRequest], besides those of
// the owners.
var SlowFields = []Field[Slow]{
	{AttrTraceID, func(s *Slow) slog.Value { return text(s.TraceID) }},
	{AttrSpanID, func(s *Slow) slog.Value { return text(s.SpanID) }},
	{AttrRoute, func(s *Slow) slog.Value { return text(s.Route) }},
	{AttrFidelity, func(s *Slow) slog.Value { return slog.StringValue(s.Share.Fidelity.String()) }},
	{AttrGCOverlap, func(s *Slow) slog.Value { return slog.StringValue(Overlap(s.Collections)) }},
	{AttrSentence, func(s *Slow) slog.Value { return text(s.Sentence) }},
	{AttrCapturePath, func(s *Slow) slog.Value { return text(s.Capture) }},
	{AttrCaptureMissing, func(s *Slow) slog.Value { return text(s.NotCaptured) }},
	{AttrCoverage, func(s *Slow) slog.Value { return slog.Float64Value(s.Share.Coverage()) }},
}

// AppendSlow appends the further attributes of s, and the time of each owner that
// had some.
func AppendSlow(dst []slog.Attr, s *Slow) []slog.Attr {
	return appendOwners(appendFields(dst, s, SlowFields), s.Share)
}

func appendOwners(dst []slog.Attr, s *stall.Share) []slog.Attr {
	for o := Owner(stall.GCPause); o < NumOwners; o++ {
		if d := *o.Part(s); d > 0 {
			dst = append(dst, slog.Float64(o.Key(), d.Seconds()))
		}
	}
	return dst
}

// Traced is a request that an execution trace shows from begin to end: of a span of the
// OpenTelemetry SDK the user task that it opened.
type Traced struct {
	stall.Span
	Slack time.Duration
	Task  string // its name, at most [MaxTask] bytes
	Share stall.Share
}

const (
	// MaxTask bounds the name of a user task, in bytes.
	MaxTask = 256
	// MaxTaskLag is by how much a span may begin before its task does, and end before it.
	// The SDK reads the clock and then begins the task, and again as both end: that takes it
	// microseconds, unless something stops it just there.
	MaxTaskLag = time.Millisecond
)

// TracedFields are the further attributes of [EventTraced], besides those of the owners.
var TracedFields = []Field[Traced]{
	{AttrTask, func(t *Traced) slog.Value { return text(TaskName(t.Task)) }},
	{AttrFidelity, func(t *Traced) slog.Value { return slog.StringValue(t.Share.Fidelity.String()) }},
	{AttrGCOverlap, func(t *Traced) slog.Value { return slog.StringValue(Overlap(t.Share.Collections)) }},
	{AttrCoverage, func(t *Traced) slog.Value { return slog.Float64Value(t.Share.Coverage()) }},
}

// AppendTraced appends the further attributes of t, and the time of each owner that had
// some.
func AppendTraced(dst []slog.Attr, t *Traced) []slog.Attr {
	return appendOwners(appendFields(dst, t, TracedFields), &t.Share)
}

// TaskName returns what an event has of a name, and what of the name of a span is to be
// compared with it: valid UTF-8 of at most [MaxTask] bytes.
func TaskName(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) > MaxTask {
		name = strings.ToValidUTF8(name[:MaxTask], "")
	}
	return name
}

// Overlaps are the values of [AttrGCOverlap]: for no collection, for one, and for
// more.
var Overlaps = [...]string{"none", "one_collection", "several_collections"}

// Overlap returns the value of [AttrGCOverlap] for a request that so many
// collections delayed.
func Overlap(collections int) string { return Overlaps[overlapIndex(collections)] }

func overlapIndex(collections int) int { return min(max(collections, 0), len(Overlaps)-1) }

// Buckets are the values of [AttrLatencyBucket], and the longest request of each.
// They are fixed: the value of an attribute must not move as percentiles do.
var Buckets = [...]struct {
	Name string
	Max  time.Duration
}{
	{"le_1ms", time.Millisecond},
	{"le_5ms", 5 * time.Millisecond},
	{"le_10ms", 10 * time.Millisecond},
	{"le_50ms", 50 * time.Millisecond},
	{"le_100ms", 100 * time.Millisecond},
	{"le_500ms", 500 * time.Millisecond},
	{"le_1s", time.Second},
	{"gt_1s", math.MaxInt64},
}

// Unwatched is the index of [Sums] for requests whose runtime nobody watched.
const Unwatched = int(stall.Exact) + 1

// Sums are the sums of requests by their bucket, and by fidelity or [Unwatched].
// The zero value is ready.
type Sums [len(Buckets)][Unwatched + 1]Sum

// Sum is the sum of some requests.
type Sum struct {
	// Hits are the requests by how many collections delayed them, an index of
	// [Overlaps], and by the gravest kind of these.
	Hits [len(Overlaps)][gc.NumKinds]Hits
	// Owned is the requests' time by its owner.
	Owned [NumOwners]time.Duration
}

// Hits are a number of requests and their time.
type Hits struct {
	Requests uint64
	Time     time.Duration
}

// Add adds one request that collections delayed, of which kind was the gravest.
func (s *Sums) Add(share *stall.Share, collections int, kind gc.Kind, watched bool) {
	fidelity := int(min(share.Fidelity, stall.Exact))
	if !watched {
		fidelity = Unwatched
	}
	if collections <= 0 || kind >= gc.NumKinds {
		kind = gc.NoKind
	}
	bucket := 0
	for share.Total > Buckets[bucket].Max {
		bucket++
	}
	sum := &s[bucket][fidelity]
	h := &sum.Hits[overlapIndex(collections)][kind]
	h.Requests++
	h.Time = plus(h.Time, share.Total)
	for c, d := range &share.Charged { // of a pointer: the array is not copied
		if d != 0 { // few causes charge one request
			sum.Owned[c] = plus(sum.Owned[c], d)
		}
	}
	for o := App; o < NumOwners; o++ {
		if d := *o.Part(share); d != 0 {
			sum.Owned[o] = plus(sum.Owned[o], d)
		}
	}
}

// IsZero reports whether no request was added.
func (s *Sum) IsZero() bool { return s.Hits == [len(Overlaps)][gc.NumKinds]Hits{} }

// Add adds the requests of more.
func (s *Sum) Add(more *Sum) {
	for n := range more.Hits {
		for kind, h := range more.Hits[n] {
			to := &s.Hits[n][kind]
			to.Requests += h.Requests
			to.Time = plus(to.Time, h.Time)
		}
	}
	for o, d := range more.Owned {
		s.Owned[o] = plus(s.Owned[o], d)
	}
}

// plus adds what is not negative. It stays at the 292 years that a Duration holds:
// spans may claim any length, and a counter must not fall.
func plus(sum, more time.Duration) time.Duration { return sum + min(more, math.MaxInt64-sum) }
