module github.com/otelgc/otelgc/internal/gotrace/oracle

go 1.26.0

require (
	github.com/otelgc/otelgc v0.0.0
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba
)

replace github.com/otelgc/otelgc => ../../..
