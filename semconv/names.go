// Package semconv holds the names of otelgc's telemetry: metrics, events and
// attributes. docs/telemetry.md lists them with their meanings.
package semconv

// Resource and identity attributes.
const (
	AttrBootID          = "otelgc.boot.id"
	AttrHostID          = "host.id"
	AttrHostName        = "host.name"
	AttrProcessPID      = "process.pid"
	AttrProcessCreation = "process.creation.time"
	AttrRuntimeName     = "process.runtime.name"
	AttrRuntimeVersion  = "process.runtime.version"
)

// Attributes of metrics, events and spans.
const (
	AttrGCKind           = "otelgc.gc.kind"
	AttrGCTrigger        = "otelgc.gc.trigger"
	AttrGCTriggerSite    = "otelgc.gc.trigger_site"
	AttrGCIndex          = "otelgc.gc.index"
	AttrGCCycles         = "otelgc.gc.cycles"
	AttrGCPromoted       = "otelgc.gc.promoted"
	AttrGCHeapBefore     = "otelgc.gc.heap.before"
	AttrGCHeapAfter      = "otelgc.gc.heap.after"
	AttrGCGoal           = "otelgc.gc.goal"
	AttrGCGeneration     = "otelgc.gc.generation"
	AttrGCFragBefore     = "otelgc.gc.fragmentation.before"
	AttrGCFragAfter      = "otelgc.gc.fragmentation.after"
	AttrGCOverlap        = "otelgc.gc.overlap"
	AttrGCCompacting     = "otelgc.gc.compacting"
	AttrGCConcurrent     = "otelgc.gc.concurrent"
	AttrGCPinned         = "otelgc.gc.pinned"
	AttrGCFinalizable    = "otelgc.gc.finalizable"
	AttrGCMemoryLoad     = "otelgc.gc.memory_load"
	AttrGCAllocated      = "otelgc.gc.allocated"
	AttrGCIncomplete     = "otelgc.gc.incomplete"
	AttrGCGenerations    = "otelgc.gc.generations"
	AttrGCPartPrefix     = "otelgc.gc.generations."
	AttrCPUPrefix        = "otelgc.gc.cpu."
	AttrPauseUtilization = "otelgc.gc.pause.utilization"
	AttrPausePhase       = "otelgc.pause.phase"
	AttrPauseStart       = "otelgc.pause.start"
	AttrPauseEnd         = "otelgc.pause.end"
	AttrPauseEndMax      = "otelgc.pause.end_max"
	AttrPauseSuspend     = "otelgc.pause.suspend"
	AttrPauseSlack       = "otelgc.pause.slack"
	AttrFidelity         = "otelgc.fidelity"
	AttrEstimated        = "otelgc.estimated"
	AttrEstimatedFields  = "otelgc.estimated.fields"
	AttrHostFaults       = "otelgc.host_during.major_faults"
	AttrHostRunDelay     = "otelgc.host_during.run_delay"
	AttrHostThrottled    = "otelgc.host_during.throttled"
	AttrHostStolen       = "otelgc.host_during.stolen"
	AttrHostOver         = "otelgc.host_during.over"
	AttrHostCPUWait      = "otelgc.host_during.cpu_wait"
	AttrHostPageWait     = "otelgc.host_during.page_wait"
	AttrPauseHostPrefix  = "otelgc.pause.host_during."
	AttrPauseUsual       = "otelgc.gc.pause.usual"
	AttrSlowedBy         = "otelgc.gc.slowed_by"
	AttrWindow           = "otelgc.window"
	AttrReason           = "otelgc.suspension.reason"
	AttrCodeFunction     = "code.function.name"
	AttrCause            = "otelgc.cause"
	AttrLatencyBucket    = "otelgc.latency.bucket"
	AttrRoute            = "http.route"
	AttrTraceID          = "otelgc.trace.id"
	AttrSpanID           = "otelgc.span.id"
	AttrSentence         = "otelgc.sentence"
	AttrCoverage         = "otelgc.stall.coverage"
	AttrScope            = "otelgc.jitter.scope"
	AttrMode             = "otelgc.jitter.mode"
	AttrEvidence         = "otelgc.jitter.evidence"
	AttrCPU              = "cpu.logical_number"
	AttrStart            = "otelgc.start"
	AttrEnd              = "otelgc.end"
	AttrDuration         = "otelgc.duration"
	AttrSlack            = "otelgc.slack"
	AttrSource           = "otelgc.source"
	AttrItem             = "otelgc.item"
	AttrErrorType        = "error.type"
	AttrStallPrefix      = "otelgc.stall."
	AttrWatermark        = "otelgc.watermark"
	AttrUnseenStart      = "otelgc.unseen.start"
	AttrUnseenEnd        = "otelgc.unseen.end"
	AttrDroppedCount     = "otelgc.dropped.count"
	AttrDroppedDuration  = "otelgc.dropped.duration"
	AttrWallOffset       = "otelgc.wall.offset"
	AttrWallError        = "otelgc.wall.error"
	AttrProbedCPUs       = "otelgc.probed.cpus"
	AttrTargetPID        = "otelgc.target.pid"
	AttrTargetCreated    = "otelgc.target.created"
	AttrCgroupID         = "otelgc.cgroup.id"
	AttrCgroupIDs        = "otelgc.cgroup.ids"
	AttrCapturePath      = "otelgc.capture.path"
	AttrCaptureMissing   = "otelgc.capture.missing"
	AttrStamp            = "otelgc.stamp"
	AttrGoCPUState       = "go.cpu.state"
	AttrGoCPUDetail      = "go.cpu.detailed_state"
	AttrDotnetGeneration = "dotnet.gc.heap.generation"
	AttrPauseGeneration  = "gc.heap.generation"
	AttrPauseType        = "gc.pause.type"
)

// StampSidecar is the value of AttrStamp.
const StampSidecar = "sidecar"

// Events.
const (
	EventCollection   = "otelgc.gc.collection"
	EventSuspension   = "otelgc.suspension"
	EventGap          = "otelgc.jitter.gap"
	EventSlowRequest  = "otelgc.request.slow"
	EventSourceStatus = "otelgc.source.status"
)

// Metrics of our own.
const (
	MetricPauseDuration      = "otelgc.gc.pause.duration"
	MetricPauseTime          = "otelgc.gc.pause.time"
	MetricPauseUtilization   = "otelgc.gc.pause.utilization"
	MetricSuspendDuration    = "otelgc.gc.suspend.duration"
	MetricPromoted           = "otelgc.gc.promoted"
	MetricHeapBefore         = "otelgc.gc.heap.before"
	MetricLastPrefix         = "otelgc.gc.last_collection."
	MetricSuspensionDuration = "otelgc.suspension.duration"
	MetricRequestStall       = "otelgc.request.stall.duration"
	MetricRequestTime        = "otelgc.request.time"
	MetricRequestStallTime   = "otelgc.request.stall.time"
	MetricRequests           = "otelgc.requests"
	MetricGapDuration        = "otelgc.jitter.gap.duration"
	MetricObservedTime       = "otelgc.jitter.observed.time"
	MetricCoverage           = "otelgc.monitor.coverage"
	MetricDropped            = "otelgc.monitor.dropped"
)

// Metrics of the OpenTelemetry registry, used as they are.
const (
	MetricGoPauseDuration = "go.memory.gc.pause.duration"
	MetricGoCycles        = "go.memory.gc.cycles"
	MetricGoCPUTime       = "go.cpu.time"
	MetricGoAllocated     = "go.memory.allocated"
)

// Metrics of a .NET process: of the registry, but for the first, which is
// proposed to it.
const (
	MetricDotnetPauseDuration = "dotnet.gc.pause.duration"
	MetricDotnetCollections   = "dotnet.gc.collections"
	MetricDotnetAllocated     = "dotnet.gc.heap.total_allocated"
	MetricDotnetPauseTime     = "dotnet.gc.pause.time"
	MetricDotnetHeapSize      = "dotnet.gc.last_collection.heap.size"
	MetricDotnetFragmentation = "dotnet.gc.last_collection.heap.fragmentation.size"
)
