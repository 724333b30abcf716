#!/usr/bin/env bash
# The probe against oslat (rt-tests) on one CPU: alternating runs, so that both
# meet the same noise, and the medians of the gaps per second that each saw.
#
#   scripts/oslat.sh SIDECAR [CPU [ROUNDS [SECONDS]]]
#
# SIDECAR is a built otelgc-sidecar. By default the last CPU of this shell, 11
# rounds of 5 seconds. Wants oslat (Debian: rt-tests), jq and, for oslat, root.
#
# oslat rounds each gap up to whole microseconds, so "at least N us" counts its
# gaps above N us. How its labels stand to its figures differs between releases:
# the smallest label is the minimum.
set -euo pipefail

die() { echo "oslat.sh: $*" >&2; exit 2; }

sidecar=${1:-}
[[ -x $sidecar ]] || die "usage: $0 SIDECAR [CPU [ROUNDS [SECONDS]]]: ${sidecar:-SIDECAR} is not a program"
for tool in oslat jq taskset; do
	command -v "$tool" >/dev/null || die "$tool is not installed"
done
allowed=$(taskset -pc $$ | sed 's/.*: //')
cpu=${2:-${allowed##*[,-]}}
rounds=${3:-11}
seconds=${4:-5}
# oslat's own threads beside the loop go to another CPU, as the sidecar's do.
rest=${allowed%%[,-]*}
[[ $rest != "$cpu" ]] || rest=${allowed##*[,-]}
[[ $rest != "$cpu" ]] || die "CPU $cpu is the only one: both would measure themselves"

bounds=(2 10 50)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_oslat() {
	oslat -q -c "$cpu" -C "$rest" -D "$seconds" -b 1024 --json="$work/oslat.json" >/dev/null
	for b in "${bounds[@]}"; do
		jq -r --argjson b "$b" '.thread["0"] as $t | ($t.histogram | to_entries | map({us: (.key | tonumber), n: .value})) as $h
			| ($h[0].us - $t.min) as $shift
			| ([$h[] | select(.us - $shift > $b) | .n] | add // 0) / $t.duration' "$work/oslat.json" >>"$work/oslat.$b"
	done
}

run_probe() {
	"$sidecar" probe --mode spin --cpu "$cpu" --duration "${seconds}s" --json >"$work/probe.json"
	[[ $(jq -r .mode "$work/probe.json") == spin ]] || die "the probe does not spin: $(jq -r .note "$work/probe.json")"
	for b in "${bounds[@]}"; do
		jq -r --arg b "${b}us" '.counts[$b] / (.duration / 1e9)' "$work/probe.json" >>"$work/probe.$b"
	done
	jq -r .loop_ns "$work/probe.json" >>"$work/loop"
	jq -r .balance "$work/probe.json" >>"$work/balance"
}

# quantile Q FILE: the value at the fraction Q of the sorted file.
quantile() { sort -g "$2" | awk -v q="$1" '{v[NR] = $1} END {x = 1 + q * (NR - 1); i = int(x); print v[i] + (x - i) * (v[i < NR ? i + 1 : i] - v[i])}'; }

for ((i = 0; i < rounds; i++)); do
	run_oslat
	run_probe
done

echo "CPU $cpu, $rounds rounds of $seconds s each, alternating; gaps per second, median (quartiles)"
printf '%-8s %-26s %-26s %s\n' "at least" oslat probe probe/oslat
for b in "${bounds[@]}"; do
	o=$(quantile 0.5 "$work/oslat.$b") p=$(quantile 0.5 "$work/probe.$b")
	printf '%-8s %-26s %-26s %s\n' "$b us" \
		"$(printf '%.1f (%.1f to %.1f)' "$o" "$(quantile 0.25 "$work/oslat.$b")" "$(quantile 0.75 "$work/oslat.$b")")" \
		"$(printf '%.1f (%.1f to %.1f)' "$p" "$(quantile 0.25 "$work/probe.$b")" "$(quantile 0.75 "$work/probe.$b")")" \
		"$(awk -v o="$o" -v p="$p" 'BEGIN {if (o > 0) printf "%.3f", p / o; else print "n/a"}')"
done
awk -v o="$(quantile 0.5 "$work/oslat.50")" -v p="$(quantile 0.5 "$work/probe.50")" \
	-v lo="$(quantile 0 "$work/oslat.50")" -v hi="$(quantile 1 "$work/oslat.50")" \
	'BEGIN {d = p - o; if (d < 0) d = -d; printf "at 50 us: the medians differ by %.1f/s; oslat against itself spreads over %.1f/s (%.1f to %.1f)\n", d, hi - lo, lo, hi}'
printf 'loop %.2f ns (worst of the rounds %.2f), balance of looks and gaps %.5f\n' \
	"$(quantile 0.5 "$work/loop")" "$(quantile 1 "$work/loop")" "$(quantile 0.5 "$work/balance")"
