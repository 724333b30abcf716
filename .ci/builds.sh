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

# step_install: both programs are installed as a stranger installs them: by `go install` of
# a version, from a proxy of files with the modules that the tags of a release have. What
# is not committed is not among them.
step_install() {
	local version tree=$SCRATCH/tree cache=$SCRATCH/modules program
	# Tags have an author, whom a machine need not know.
	export GIT_AUTHOR_NAME=ci GIT_AUTHOR_EMAIL=ci@localhost GIT_COMMITTER_NAME=ci GIT_COMMITTER_EMAIL=ci@localhost
	version=v$(sed -n 's/^const Version = "\(.*\)"/\1/p' otelgc/doc.go)
	git clone -q --no-tags . "$tree"
	"$tree/scripts/release" tag "$version"
	(
		cd "$SCRATCH"
		export GOFLAGS="$GOFLAGS -modcacherw" GOPRIVATE=github.com/otelgc/otelgc
		GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$tree.insteadOf" GIT_CONFIG_VALUE_0=https://github.com/otelgc/otelgc \
			GOMODCACHE=$SCRATCH/proxy go mod download "github.com/otelgc/otelgc@$version" "github.com/otelgc/otelgc/collector@$version"
		# Of our modules there are those files alone: no tree, and no repository.
		export GOPRIVATE= GONOSUMDB=github.com/otelgc/otelgc GOBIN=$SCRATCH/installed \
			GOPROXY="file://$SCRATCH/proxy/cache/download,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
		export GOMODCACHE=$cache
		for program in sidecar collector/otelcol-otelgc; do
			go install "github.com/otelgc/otelgc/$program@$version" 2>install.log || { cat install.log; exit 1; }
		done
		rm -rf "$cache"
		for program in sidecar otelcol-otelgc; do
			# Its module has that version, and no module was replaced.
			go version -m "installed/$program" | awk -v v="$version" '/otelgc/ {print} $1 == "mod" && $3 != v || $1 == "=>" {bad = 1} END {exit bad}'
		done
		installed/sidecar version | grep "^otelgc-sidecar $version "
		installed/otelcol-otelgc components | grep -w stall
	)
}

# step_release makes a release of this commit for this machine alone, and holds each bill
# of materials against what the program says of itself. It is not among the steps of a
# change: goreleaser, and the programs for arm64, are ten minutes of compiling.
step_release() {
	local program sbom
	PATH="$PATH:$(go env GOPATH)/bin"
	mkdir -p "$TOOLS"
	# What runs once is not worth optimizing.
	GOFLAGS="'-gcflags=all=-N -l -dwarf=false'" install "$GORELEASER"
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
