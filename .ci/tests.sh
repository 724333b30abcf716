# What is run: tests, race detector, fuzzing, benchmarks. Sourced by .ci/run.

# FUZZ_COUNT inputs per fuzz target: by count, not by time, so that a slow
# machine checks as much as a fast one.
FUZZ_COUNT=${FUZZ_COUNT:-10000}

# step_test is the README's command, without cgo but where it is set otherwise,
# and with as much time for a slow machine as the other steps have;
# step_race has it. What vet has to say step_lint says.
step_test() { go test -vet=off -timeout 20m ./...; }

# step_modules: the tests of the nested modules, the end-to-end test of the
# Collector among them, which builds one first.
step_modules() { each_module nested_dirs go test -vet=off -timeout 20m ./...; }

# NO_RACE packages have no test that does anything under the race detector.
NO_RACE='/sidecar\(/internal/hostile\)\{0,1\}$'

step_race() {
	local packages
	command -v gcc >/dev/null || { skip "race: there is no C compiler"; return; }
	packages=$(go list ./... | grep -v "$NO_RACE")
	# shellcheck disable=SC2086 # one word per package
	CGO_ENABLED=1 go test -race -vet=off -timeout 20m $packages
}

# step_arm64: the tests as arm64 has them, by an emulator of its instructions under
# this machine's kernel. What that cannot show: a real counter's rate, the order in
# which other CPUs see what one wrote, and all that asks the kernel (perf events, BPF).
step_arm64() {
	local packages
	command -v qemu-aarch64-static >/dev/null || { skip "arm64: there is no qemu-aarch64-static (Debian: qemu-user-static)"; return; }
	packages=$(go list ./... | grep -vE "$NOT_EMULATED")
	# shellcheck disable=SC2086 # one word per package
	GOARCH=arm64 go test -exec qemu-aarch64-static -vet=off -short -timeout 20m -skip "^($TEST_NOT_EMULATED)\$" $packages
}

# NOT_EMULATED packages start programs, which the kernel takes for another machine's
# (sidecar and its demo, hostile, target), load BPF (hostwatch, gouprobe), or call
# openat2(2), which qemu 7.2 has not (dotnetipc, target). A test elsewhere that starts
# its own program skips by itself.
NOT_EMULATED='/(sidecar|sidecar/internal/(demo|hostile|target)|internal/(dotnetipc|gouprobe|hostwatch))$'

# TEST_NOT_EMULATED: the first three compare starts of processes, and the emulator's
# /proc/self/stat has that of a thread. TestBrowser wants a request to be the slowest that
# is not so under an emulator. Each of the others computes for 6 to 70 s.
TEST_NOT_EMULATED='TestReadGetsWhatWasAppended|TestWatched|TestFaults|TestBrowser'
TEST_NOT_EMULATED+='|TestEndless|TestInjected|TestCollectionsMatchTheRuntime|TestOutsideIsInside|TestBoundedAtAnyRate'
TEST_NOT_EMULATED+='|TestCutGoTrace|TestWarmupOfEachTarget|TestCutDotnet|TestGreedy|TestCut|TestStateLogKeepsStates|TestEndlessStreams'

step_fuzz() {
	local dir
	for dir in $(module_dirs); do
		(cd "$dir" && fuzz "$dir")
	done
}

# fuzz DIR fuzzes each target of the module DIR, which is the current directory.
# The fuzzer follows which branches an input takes in the module's own packages:
# for all others, too, as `go test -fuzz` has it, they would be compiled once more.
fuzz() {
	local binaries=$SCRATCH/fuzz log=$SCRATCH/fuzz.log module path package packages binary target targets
	module=$(go list -m)
	packages=$(holding Fuzz)
	[ -n "$packages" ] || return 0
	# shellcheck disable=SC2086 # one word per package
	go test -c -vet=off -gcflags="$module/...=-d=libfuzzer" -o "$binaries/" $packages
	for package in $packages; do
		path=$module${package#.}
		binary=$binaries/${path##*/}.test
		targets=$("$binary" -test.list '^Fuzz')
		[ -n "$targets" ] || { echo "$package: no fuzz target is listed" >&2; return 1; }
		for target in $targets; do
			echo "--- $1 $package $target"
			(cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzzcachedir "$(go env GOCACHE)/fuzz/$path" \
				-test.fuzztime "${FUZZ_COUNT}x" -test.fuzzminimizetime 10x -test.parallel 2 </dev/null) >"$log" 2>&1 ||
				{ cat "$log"; return 1; }
			! grep 'not built with coverage' "$log" || return 1
			grep elapsed: "$log" | tail -1
		done
	done
	rm -rf "$binaries"
}

# step_bench: every benchmark runs once, and briefly, so that none rots.
step_bench() {
	local dir
	for dir in $(module_dirs); do
		echo "--- $dir"
		(cd "$dir" && holding Benchmark | xargs -r go test -vet=off -short -run '^$' -bench . -benchtime 1x)
	done
}

# holding KIND prints each ./package of the module in the current directory whose
# tests have functions of the KIND, Fuzz or Benchmark.
holding() {
	go list -f '{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$d}}/{{.}} {{end}}' ./... |
		{ xargs -r grep -lE "^func $1[A-Z]" || true; } | xargs -r dirname | sort -u | sed "s#^$PWD#.#"
}

# step_rest: tests that wait for processes more than they compute; and what only
# computes. Lint comes when the tests have compiled what it needs.
step_rest() { beside "modules race" "tools lint laws noasm fuzz bench cross arm64 install"; }
