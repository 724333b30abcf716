# Other systems and other ways to build. Sourced by .ci/run.

# PLATFORMS that are held to; the one at hand is for test and vet.
PLATFORMS=(linux/amd64 linux/arm64 darwin/arm64 windows/amd64)

# step_cross: every package and every test holds for the compiler on every
# platform, and the sidecar and the tests of the probe link (assembly is resolved
# there). The Collector, which has no code of ours in it but its main, is for
# this platform alone. Vet compiles what is imported, and reads the rest; to build
# all of it too is to link every program of the tree. Nothing of it runs, so nothing
# is optimized.
step_cross() {
	local platform
	for platform in "${PLATFORMS[@]}"; do
		[ "$platform" != "$(go env GOHOSTOS)/$(go env GOHOSTARCH)" ] || continue
		echo "--- $platform"
		(
			export GOOS=${platform%/*} GOARCH=${platform#*/} GOFLAGS="-buildvcs=false '-gcflags=all=-N -l -dwarf=false'"
			go vet ./...
			link
			[ ! -d examples ] || (cd examples && go vet ./...)
		)
	done
}

# link links the sidecar and the tests of the probe, and throws them away.
link() {
	local out=$SCRATCH/link
	mkdir -p "$out"
	go build -o "$out/" ./sidecar
	go test -c -vet=off -o "$out/" ./jitterprobe/...
	rm -rf "$out"
}

# step_noasm: the probe without its assembly, as on a machine it knows nothing of.
# Only jitterprobe/internal has files for that, so nobody else can tell.
step_noasm() {
	local elsewhere
	elsewhere=$(git grep -lw noasm -- '*.go' '*.s' ':!jitterprobe/internal' || true)
	[ -z "$elsewhere" ] || { printf 'noasm outside jitterprobe/internal:\n%s\n' "$elsewhere"; return 1; }
	go vet -tags noasm ./jitterprobe/...
	go test -tags noasm -vet=off -count=1 ./jitterprobe/...
}
