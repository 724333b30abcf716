// Package chart tests the Helm chart charts/otelgc and the examples for Kubernetes,
// without a cluster: the chart is rendered as Helm renders it, read strictly, filled
// with defaults and validated by the API server's own code, and judged by its own
// Pod Security admission. It is a module of its own, for the weight of them.
package chart
