# The tools, at pinned versions, and the system packages. Sourced by .ci/run.

GOLANGCI=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GORELEASER=github.com/goreleaser/goreleaser/v2@v2.15.1
CYCLONEDX=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
GOVULNCHECK=golang.org/x/vuln/cmd/govulncheck@v1.9.0

export TOOLS="$ROOT/.cache/bin"
export PATH="$TOOLS:$PATH"

# DEBIAN, package:what-it-brings: gcc for the race detector; oslat for
# the comparison with it; prometheus for the rules and the dashboard; chromium for the
# pages; qemu for arm64; the others for the commands of the documentation.
DEBIAN=(make:make curl:curl openssl:openssl procps:pgrep gcc:gcc libc6-dev:/usr/include/stdlib.h rt-tests:oslat prometheus:promtool chromium:chromium qemu-user-static:qemu-aarch64-static)

# step_prepare: what is fetched from different places is fetched at once.
step_prepare() { beside "packages npm" tidy; }

# step_packages installs the Debian packages that are missing.
step_packages() {
	local entry package probe missing=()
	for entry in "${DEBIAN[@]}"; do
		package=${entry%%:*} probe=${entry#*:}
		command -v "$probe" >/dev/null 2>&1 || [ -e "$probe" ] || missing+=("$package")
	done
	if [ ${#missing[@]} -eq 0 ]; then
		echo "nothing is missing"
	elif [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		skip "installing ${missing[*]}: needs root and apt-get"
	elif ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${missing[@]}"; } </dev/null >"$SCRATCH/apt.log" 2>&1; then
		tail -3 "$SCRATCH/apt.log"
		skip "installing ${missing[*]}: apt-get failed"
	else
		echo "installed ${missing[*]}"
	fi
}

# NPM, a .NET program that the tests of the .NET side start; without it they
# skip. The tests find it where step_npm puts it, too.
NPM=@azure/mcp-linux-x64@2.0.5
AZMCP="$ROOT/.cache/npm/node_modules/@azure/mcp-linux-x64/dist/azmcp"
[ ! -x "$AZMCP" ] || export OTELGC_AZMCP="$AZMCP"

# AXE, the audit of pages for people who cannot see them well; without it its test skips.
AXE=axe-core@4.14.1
export OTELGC_AXE="$ROOT/.cache/axe/node_modules/axe-core/axe.min.js"

# npm_axe installs AXE at its version, unless it is there.
npm_axe() {
	if grep -qs "\"version\": \"${AXE##*@}\"" "${OTELGC_AXE%/*}/package.json"; then
		echo "$AXE: $OTELGC_AXE"
	elif ! command -v npm >/dev/null || ! npm install --prefix "$ROOT/.cache/axe" --no-save --no-audit --no-fund --ignore-scripts "$AXE" >"$SCRATCH/axe.log" 2>&1; then
		skip "installing $AXE: npm is missing or failed; the audit of the pages skips"
	else
		echo "installed $AXE"
	fi
}

# step_npm installs NPM at its version, unless it is there.
step_npm() {
	local manifest="$ROOT/.cache/npm/node_modules/@azure/mcp-linux-x64/package.json"
	if grep -qs "\"version\": \"${NPM##*@}\"" "$manifest" && [ -x "$AZMCP" ]; then
		echo "$NPM: $AZMCP"
	elif ! command -v npm >/dev/null; then
		skip "installing $NPM: there is no npm; the tests against a real .NET process skip"
	elif ! npm install --prefix "$ROOT/.cache/npm" --no-save --no-audit --no-fund --ignore-scripts "$NPM" >"$SCRATCH/npm.log" 2>&1; then
		tail -3 "$SCRATCH/npm.log"
		skip "installing $NPM: npm failed; the tests against a real .NET process skip"
	else
		echo "installed $NPM"
	fi
	npm_queries
	npm_axe
}

# npm_queries installs what collector/internal/queries asks: DuckDB, ClickHouse and
# Grafana's own SDK, at the versions of its lock file. Not by `npm ci`, which
# refuses a lock where a registry lacks the packages of other platforms.
npm_queries() {
	local from="$ROOT/collector/internal/queries" to="$ROOT/.cache/queries"
	command -v npm >/dev/null || { skip "installing DuckDB, ClickHouse and Grafana's SDK: there is no npm"; return; }
	if cmp -s "$from/package-lock.json" "$to/package-lock.json" && [ -d "$to/node_modules" ]; then
		echo "DuckDB, ClickHouse and Grafana's SDK: $to"
		return
	fi
	mkdir -p "$to"
	cp "$from"/package*.json "$to/"
	if npm install --prefix "$to" --no-save --ignore-scripts --no-audit --no-fund >"$SCRATCH/npm.log" 2>&1; then
		echo "installed DuckDB and Grafana's SDK"
		[ -d "$to/node_modules/chdb" ] || skip "ClickHouse: npm could not install it; its tests skip"
	else
		tail -3 "$SCRATCH/npm.log"
		rm -rf "$to"
		skip "installing DuckDB, ClickHouse and Grafana's SDK: npm failed; their tests skip"
	fi
}

# install PACKAGE@VERSION puts a tool into .cache/bin unless that very version
# is there, or on the PATH, already.
install() {
	local package=${1%@*} version=${1#*@} name found
	name=${package%/v[0-9]} name=${name##*/}
	if found=$(command -v "$name") && go version -m "$found" 2>/dev/null |
		awk -v v="$version" '$1 == "mod" && $3 == v {ok = 1} END {exit !ok}'; then
		echo "$name $version: $found"
		return
	fi
	echo "$name $version: installing"
	rm -f "$TOOLS/$name"
	GOBIN=$TOOLS go install "$1" 2>"$SCRATCH/install.log" || { tail -3 "$SCRATCH/install.log"; return 1; }
}

step_tools() {
	PATH="$PATH:$(go env GOPATH)/bin"
	mkdir -p "$TOOLS"
	install "$GOLANGCI"
	[ -e "$TOOLS/golangci-lint" ] || ln -sf "$(command -v golangci-lint)" "$TOOLS/golangci-lint"
}

# need TOOL installs the tools when a step is asked for on its own.
need() { [ -x "$TOOLS/$1" ] || step_tools; }

# step_vulnerabilities needs govulncheck and its data, neither of which is
# reachable everywhere.
step_vulnerabilities() {
	mkdir -p "$TOOLS"
	if ! install "$GOVULNCHECK"; then
		skip "govulncheck: it cannot be installed from here"
		return
	fi
	local dir code
	for dir in $(module_dirs); do
		code=0
		(cd "$dir" && govulncheck ./... >"$SCRATCH/vuln.log" 2>&1) || code=$?
		# 3: something was found. Any other failure: no data, or no network.
		case $code in
		0) echo "--- $dir: nothing found" ;;
		3) cat "$SCRATCH/vuln.log"; return 1 ;;
		*) tail -2 "$SCRATCH/vuln.log"; skip "govulncheck: its data cannot be reached from here"; return ;;
		esac
	done
}
