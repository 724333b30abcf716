// Package hostile holds the sidecar to SECURITY.md. It runs the real binary in a
// memory cgroup of the size that the manifest for Kubernetes gives it, among
// .NET runtimes that lie and beside one that does not. It holds tests only.
package hostile
