// Package dotnet attaches to .NET processes that know nothing of it, follows
// them over restarts, and exports their collections and stops as their own
// telemetry: each process has providers with its resource, never the
// sidecar's.
//
// One goroutine looks for processes, one per process reads its stream. What a
// process does to its own, however slow it answers, holds nobody else up. What
// streams take of memory and of CPU time comes from one budget, and places are
// shared by user, pod and container: who takes more than there is loses alone.
package dotnet
