# What is run: tests, race detector, fuzzing, benchmarks. Sourced by .ci/run.

# FUZZ_COUNT inputs per fuzz target: by count, not by time, so that a slow
# machine checks as much as a fast one.
FUZZ_COUNT=${FUZZ_COUNT:-10000}

# step_test is the README's command.
step_test() { go test ./...; }

# step_modules: the tests of the nested modules, the end-to-end test of the
# Collector among them.
# The end-to-end test builds a Collector first.
step_modules() { each_module nested_dirs go test -timeout 20m ./...; }

step_race() {
	command -v gcc >/dev/null || { skip "race: there is no C compiler"; return; }
	CGO_ENABLED=1 go test -race -timeout 20m ./...
}

step_fuzz() {
	local dir file target
	for dir in $(module_dirs); do
		(cd "$dir" && fuzz_targets "$dir") >>"$SCRATCH/targets"
	done
	[ -s "$SCRATCH/targets" ] || { skip "fuzz: there are no targets"; return; }
	while read -r dir package target; do
		echo "--- $dir $package $target"
		(cd "$dir" && go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ_COUNT}x" \
			-fuzzminimizetime 10x -parallel 2 "$package" </dev/null) >"$SCRATCH/fuzz.log" 2>&1 ||
			{ cat "$SCRATCH/fuzz.log"; return 1; }
		tail -1 "$SCRATCH/fuzz.log"
	done <"$SCRATCH/targets"
}

# fuzz_targets DIR prints "DIR ./package FuzzName" for the module in the
# current directory.
fuzz_targets() {
	local package
	go list -f '{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$d}}/{{.}} {{end}}' ./... |
		tr ' ' '\n' | grep . | xargs -r grep -HoE '^func Fuzz[A-Za-z0-9_]+' |
		while IFS=: read -r file func; do
			package=./$(realpath --relative-to=. "$(dirname "$file")")
			echo "$1 $package ${func#func }"
		done || true
}

# step_bench: every benchmark runs once, so that none rots.
step_bench() { each_module module_dirs go test -run '^$' -bench . -benchtime 1x ./...; }
