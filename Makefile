# Verbs for people; .ci/run holds what they mean.
.PHONY: help test race lint fuzz bench ci demo picture site collector accuracy tidy clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile

test: ## the tests of every module
	.ci/run test modules

race: ## the tests under the race detector
	.ci/run race

lint: ## vet, staticcheck, the laws of the architecture
	.ci/run format assembly tools lint laws api_only

fuzz: ## every fuzz target; FUZZ_COUNT=1000000 for more
	.ci/run fuzz

bench: ## every benchmark, long enough to be read
	go test -run '^$$' -bench . -benchmem ./...

ci: ## everything, as before a merge
	.ci/run

demo: ## a service under load: who is to blame for its p99?
	go run ./sidecar demo

picture: ## docs/img/demo.png, anew from a run of the demo; needs chromium
	go run ./sidecar demo --html otelgc-demo.html
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,860 --screenshot=docs/img/demo.png otelgc-demo.html
	rm otelgc-demo.html

collector: ## a Collector that attributes spans, on the loopback address
	mkdir -p bin
	cd collector && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o ../bin/otelcol-otelgc ./otelcol-otelgc
	bin/otelcol-otelgc --config collector/config.yaml

site: ## the documentation as HTML, in .cache/site
	cd release && go run ./site -o ../.cache/site

accuracy: ## the measurements behind docs/accuracy.md, and the rows that docs/accuracy/cost.csv lacks: hours on a quiet machine
	cd bench && CGO_ENABLED=0 go run -buildvcs=false . -o ../docs/accuracy all

tidy: ## go mod tidy in every module
	for dir in $$(find . -name go.mod -not -path '*/testdata/*' -exec dirname {} \;); do (cd $$dir && go mod tidy -e); done

clean: ## what the verbs above leave behind
	rm -rf .cache bin
