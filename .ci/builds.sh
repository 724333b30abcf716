# Other systems and other ways to build. Sourced by .ci/run.

PLATFORMS=(linux/amd64 linux/arm64 darwin/arm64 windows/amd64)

# step_cross: every package and every test compiles for every platform, and
# the sidecar and the tests of the probe link (assembly is resolved there).
# The Collector, which has no code of ours in it but its main, is built for
# this platform alone.
step_cross() {
	local platform
	for platform in "${PLATFORMS[@]}"; do
		echo "--- $platform"
		(
			export CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/}
			go build ./...
			go vet ./...
			link ./sidecar ./jitterprobe/...
			[ ! -d examples ] || (cd examples && go vet ./...)
		)
	done
}

# link PACKAGES... links commands and test binaries into a directory that is
# thrown away.
link() {
	local package out=$SCRATCH/link
	mkdir -p "$out"
	for package in $(go list -e -f '{{if not .Error}}{{.ImportPath}}{{end}}' "$@"); do
		case $(go list -f '{{.Name}} {{len .TestGoFiles}}{{len .XTestGoFiles}}' "$package") in
		"main "*) go build -o "$out/" "$package" ;;
		*" 00") ;;
		*) go test -c -o "$out/" "$package" ;;
		esac
	done
	rm -rf "$out"
}

# step_noasm: the probe without its assembly, as on a machine it knows nothing of.
step_noasm() {
	[ -d jitterprobe ] || { skip "noasm: there is no package jitterprobe"; return; }
	go build -tags noasm ./...
	go vet -tags noasm ./jitterprobe/...
	go test -tags noasm -count=1 ./jitterprobe/...
}
