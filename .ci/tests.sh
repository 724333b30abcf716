# What is run: tests, race detector, fuzzing, benchmarks. Sourced by .ci/run.

# FUZZ_COUNT inputs per fuzz target: by count, not by time, so that a slow
# machine checks as much as a fast one.
FUZZ_COUNT=${FUZZ_COUNT:-10000}

# step_test is the README's command, without cgo but where it is set otherwise;
# step_race has it.
step_test() { go test ./...; }

# step_modules: the tests of the nested modules, the end-to-end test of the
# Collector among them.
# The end-to-end test builds a Collector first.
step_modules() { each_module nested_dirs go test -timeout 20m ./...; }

# step_race: what step_vet has read is not read again.
step_race() {
	command -v gcc >/dev/null || { skip "race: there is no C compiler"; return; }
	CGO_ENABLED=1 go test -race -vet=off -timeout 20m ./...
}

step_fuzz() {
	local dir
	for dir in $(module_dirs); do
		(cd "$dir" && each_holding Fuzz fuzz "$dir")
	done
}

# fuzz DIR PACKAGE fuzzes each target of PACKAGE, of the module DIR, which is the
# current directory. They share one instrumented binary.
fuzz() {
	local binary=$SCRATCH/fuzz.test log=$SCRATCH/fuzz.log corpus target targets
	corpus=$(go env GOCACHE)/fuzz/$(go list "$2") # where go test has it
	go test -c -vet=off -fuzz . -o "$binary" "$2"
	targets=$("$binary" -test.list '^Fuzz')
	[ -n "$targets" ] || { echo "$2: no fuzz target is listed" >&2; return 1; }
	for target in $targets; do
		echo "--- $1 $2 $target"
		(cd "$2" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzzcachedir "$corpus" \
			-test.fuzztime "${FUZZ_COUNT}x" -test.fuzzminimizetime 10x -test.parallel 2 </dev/null) >"$log" 2>&1 ||
			{ cat "$log"; return 1; }
		grep elapsed: "$log" | tail -1
	done
}

# step_bench: every benchmark runs once, and briefly, so that none rots.
step_bench() {
	local dir
	for dir in $(module_dirs); do
		echo "--- $dir"
		(cd "$dir" && each_holding Benchmark echo | xargs -r go test -vet=off -short -run '^$' -bench . -benchtime 1x)
	done
}

# each_holding KIND COMMAND... runs COMMAND with each ./package of the module in
# the current directory whose tests have functions of the KIND, Fuzz or Benchmark.
each_holding() {
	local kind=$1 files package
	shift
	files=$(go list -f '{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$d}}/{{.}} {{end}}' ./...)
	for package in $(xargs -r grep -lE "^func $kind[A-Z]" <<<"$files" | xargs -r dirname | sort -u); do
		"$@" "./$(realpath --relative-to=. "$package")"
	done
}

# step_beside: modules, whose tests wait for processes more than they compute; and
# what only computes, with what CPU they leave.
step_beside() {
	nice -n 19 .ci/run cross fuzz >"$SCRATCH/computed" 2>&1 &
	local computed=$! waited failed=0
	(set -euo pipefail; step_modules) &
	waited=$!
	wait $waited || failed=1
	wait $computed || failed=1
	cat "$SCRATCH/computed"
	return $failed
}
