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

# step_release makes a release of this commit for this machine alone, and holds each bill
# of materials against what the program says of itself. It is not among the steps of a
# change: to build goreleaser, and all programs as a release has them, takes ten minutes.
step_release() {
	local program sbom
	PATH="$PATH:$(go env GOPATH)/bin"
	mkdir -p "$TOOLS"
	install "$GORELEASER"
	install "$CYCLONEDX"
	GOFLAGS= scripts/release --snapshot
	for program in otelgc-sidecar otelcol-otelgc; do
		for sbom in .cache/dist/"$program"_*_linux_amd64.cdx.json; do
			# Replaced modules, as our own root is in collector/, have no version.
			diff <(go version -m ".cache/dist/${program}_linux_amd64_v1/$program" | awk '$1 == "dep" && $3 != "v0.0.0" {print $2}' | sort) \
				<(sed -n 's/.*"purl": "pkg:golang\/\([^@?"]*\)@.*/\1/p' "$sbom" | grep -v "^\.\./" | sort -u)
		done
	done
}
