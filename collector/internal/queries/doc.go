// Package queries proves what collector/deploy and docs/reference.md hand to
// backends: the Prometheus rules and the Grafana dashboard against a real
// Prometheus that scrapes a real Collector, the exemplars there against the
// requests that they name, the dashboard against the types that Grafana publishes,
// and the SQL against what a real Collector wrote, read by DuckDB and by an
// embedded ClickHouse.
//
// The tests need promtool and prometheus (Debian's prometheus), and node with
// the modules of package.json; each skips aloud where they are missing.
package queries
