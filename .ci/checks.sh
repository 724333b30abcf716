# What is read, not run: format, laws, generated files, module files.
# Sourced by .ci/run.

step_format() {
	local bad
	bad=$(find . \( -name .git -o -name .cache -o -name testdata \) -prune -o -name '*.go' -print0 | xargs -0 gofmt -l)
	[ -z "$bad" ] || { printf 'not formatted by gofmt:\n%s\n' "$bad"; return 1; }
}

# step_map: every package stands on the map of docs/architecture.md by its whole path;
# of what is one thing in several programs, the folder that holds them. And every test
# that SECURITY.md names is there.
step_map() {
	local name
	for name in $(grep -oE '`(Test|Fuzz)[A-Za-z0-9]+' SECURITY.md | tr -d '`' | sort -u); do
		git grep -qE "^func $name\(" -- '*_test.go' || { echo "SECURITY.md names $name, and there is no such test"; return 1; }
	done
	local dir lost=()
	for dir in $(git ls-files --cached --others --exclude-standard '*.go' | xargs -n1 dirname | sort -u); do
		case $dir in
		*/testdata/* | */stallconnector/internal/*) continue ;;
		bench/*) dir=bench ;;
		collector/internal/e2e/*) dir=collector/internal/e2e ;;
		collector/internal/queries/*) dir=collector/internal/queries ;;
		examples/*) dir=examples ;;
		esac
		grep -qF "\`$dir/\`" docs/architecture.md || lost+=("$dir")
	done
	[ ${#lost[@]} -eq 0 ] || { printf 'not on the map of docs/architecture.md: %s\n' "${lost[@]}"; return 1; }
}

# step_tidy: go.mod and go.sum are what `go mod tidy` would write. Tidy wants
# the modules of the tests of dependencies too; where the proxy refuses one of
# these, what is used is verified instead.
step_tidy() {
	local dir log=$SCRATCH/tidy.log
	for dir in $(module_dirs); do
		echo "--- $dir: go mod tidy -diff"
		if (cd "$dir" && go mod tidy -diff) >"$log" 2>&1; then
			continue
		elif grep -qE '403 Forbidden|module version is not available' "$log"; then
			grep -m1 -oE '[^ ]+@v[^:]+: reading .*' "$log" || true
			skip "go mod tidy -diff in $dir: the module proxy refuses a module of a dependency's tests"
			(cd "$dir" && go mod verify && go list -mod=readonly -deps -test ./... >/dev/null)
		else
			cat "$log"
			return 1
		fi
	done
}

# step_generated: running the generators changes nothing.
step_generated() {
	local dir before after
	if ! grep -rlq --include='*.go' '^//go:generate' .; then
		echo "no generated files"
		return
	fi
	before=$(tree_state) || return 1
	for dir in $(module_dirs); do
		echo "--- $dir: go generate ./..."
		(cd "$dir" && go generate ./...)
	done
	after=$(tree_state)
	[ "$before" = "$after" ] || { echo "stale; go generate changed:"; git status --short; return 1; }
}

# tree_state prints what git sees changed in the tree, content included.
tree_state() {
	git status --porcelain
	git diff | sha256sum
	git ls-files --others --exclude-standard -z | xargs -0 -r sha256sum
}

# step_assembly: only jitterprobe/internal holds assembly. Vet reads it: of all that
# vet does, that alone golangci-lint does not report.
step_assembly() {
	local bad
	bad=$(find . \( -name .git -o -name .cache \) -prune -o -name '*.s' -not -path './jitterprobe/internal/*' -print)
	[ -z "$bad" ] || { printf 'assembly outside jitterprobe/internal:\n%s\n' "$bad"; return 1; }
	[ ! -d jitterprobe ] || go vet ./jitterprobe/...
}

# step_lint has all of vet and staticcheck among its linters. It also reads the
# files of other systems, for the laws alone.
step_lint() {
	need golangci-lint
	each_module module_dirs golangci-lint run --config "$ROOT/.golangci.yml" ./...
	# What the measured service is watched by is linked by tags.
	(cd bench && golangci-lint run --config "$ROOT/.golangci.yml" --build-tags otel,metrics,otelgc,grpc,pprof ./cost/subject)
	local os
	for os in darwin windows; do
		echo "--- .: laws of the $os files"
		GOOS=$os golangci-lint run --enable-only depguard ./...
	done
}

# step_laws: the rules of .golangci.yml report what they forbid.
step_laws() {
	need golangci-lint
	.ci/laws
}

# step_api_only: a service that imports otelgc gets no SDK, exporter, gRPC,
# protobuf or BPF with it, not even through another package, and of our own packages
# none with perf events, assembly or go:linkname.
step_api_only() {
	local bad
	[ -d otelgc ] || { skip "api_only: there is no package otelgc"; return; }
	bad=$(go list -deps ./otelgc | grep -E '^(go\.opentelemetry\.io/otel/(sdk|exporters)|go\.opentelemetry\.io/(proto|contrib|collector)|google\.golang\.org/|github\.com/cilium/)' || true)
	bad+=$(go list -deps -f '{{if .Module}}{{if eq .Module.Path "github.com/otelgc/otelgc"}}{{$d := .Dir}}{{range .SFiles}}{{$d}}/{{.}}
{{end}}{{range .GoFiles}}{{$d}}/{{.}}
{{end}}{{end}}{{end}}' ./otelgc | sed '/^$/d' | while read -r file; do
		case $file in *.s) echo "$file" ;; esac
		grep -lE '^//go:linkname|PerfEventOpen|SYS_BPF' "$file" || true
	done)
	[ -z "$bad" ] || { printf 'otelgc depends on:\n%s\n' "$bad"; return 1; }
}
