# Which modules there are, how to say that something is skipped, and how to run
# steps beside others.
# Sourced by .ci/run.

# module_dirs prints the directory of every Go module, the root first.
module_dirs() {
	find . \( -name .git -o -name .cache -o -name testdata -o -name node_modules \) -prune \
		-o -name go.mod -printf '%h\n' | LC_ALL=C sort
}

# nested_dirs prints every module but the root.
nested_dirs() { module_dirs | grep -vx '\.' || true; }

# each_module DIRS_FUNCTION COMMAND... runs COMMAND in each directory, and
# stops at the first that fails.
each_module() {
	local dirs=$1 dir
	shift
	for dir in $($dirs); do
		echo "--- $dir: $*"
		(cd "$dir" && "$@")
	done
}

# skip WHAT says aloud, now and again in the summary, what was not checked.
skip() {
	echo "skipped: $*"
	echo "$*" >>"$SKIPPED"
}

# beside STEPS OTHERS runs the OTHERS with the CPU time that the STEPS leave. Each
# is a list of steps.
beside() {
	local failed=0 others said=$SCRATCH/beside
	# shellcheck disable=SC2086 # one word per step
	nice -n 19 .ci/run $2 >"$said" 2>&1 &
	others=$!
	# shellcheck disable=SC2086
	.ci/run $1 || failed=1
	wait $others || failed=1
	cat "$said"
	return $failed
}
