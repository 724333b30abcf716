// Package target attaches to .NET and Go processes that know nothing of it, follows
// them over restarts, and exports their collections and stops as their own
// telemetry: each process has providers with its resource, never the
// sidecar's.
//
// One goroutine looks for processes, and one per process reads its source: package
// dotnet or gouprobe. A process that answers slowly holds up its own goroutine alone.
// Places are shared by user, pod and container, and what the streams of .NET take of
// memory and CPU time comes from one budget: a group that takes more than there is loses
// alone.
package target
