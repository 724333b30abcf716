// Package manifests tests what is under collector/deploy for Kubernetes, without
// a cluster: it is built as `kubectl apply -k` builds it, read strictly, filled
// with defaults and validated by the API server's own code, and judged by its own
// Pod Security admission. It is a module of its own, for the weight of them.
package manifests
