package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// document is what oslat --json writes (rt-tests, src/oslat/oslat.c,
// write_summary_json, release 2.4).
type document struct {
	Version string `json:"rt_test_version:"` // with the colon, up to 2.8
	Thread  map[string]struct {
		Min       float64           `json:"min"`      // us
		Duration  float64           `json:"duration"` // s
		Histogram map[string]uint64 `json:"histogram"`
	} `json:"thread"`
}

// runOslat runs oslat on cpu, and what it does beside its loop on rest.
func runOslat(ctx context.Context, cpu, rest int, span time.Duration) (r rates, version string, err error) {
	dir, err := os.MkdirTemp("", "oslat-")
	if err != nil {
		return r, "", fmt.Errorf("make directory for oslat: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "oslat.json")
	cmd := exec.CommandContext(ctx, "oslat", "--quiet",
		"--cpu-list", strconv.Itoa(cpu), "--cpu-main-thread", strconv.Itoa(rest),
		"--duration", strconv.Itoa(int(span/time.Second)), "--bucket-size", "1024", "--json="+path)
	if said, err := cmd.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		return r, "", fmt.Errorf("run oslat: %w (Debian: rt-tests)", err)
	} else if err != nil {
		return r, "", fmt.Errorf("run oslat: %w: %s", err, said)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return r, "", fmt.Errorf("read what oslat wrote: %w", err)
	}
	return parse(text)
}

// parse counts the gaps. oslat rounds each up to whole microseconds, so "at least
// N us" are those of which the rounded length is above N. How its labels stand to
// its figures differs between releases: the smallest label is the minimum.
func parse(text []byte) (r rates, version string, err error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return r, "", fmt.Errorf("read what oslat wrote: %w", err)
	}
	t, ok := d.Thread["0"]
	if !ok || t.Duration <= 0 || len(t.Histogram) == 0 {
		return r, "", fmt.Errorf("read what oslat wrote: no gaps of thread 0: %.200s", text)
	}
	labels := make(map[string]float64, len(t.Histogram))
	first := -1.0
	for label := range t.Histogram {
		us, err := strconv.ParseFloat(label, 64)
		if err != nil {
			return r, "", fmt.Errorf("read what oslat wrote: label %q is no number of us", label)
		}
		if labels[label] = us; first < 0 || us < first {
			first = us
		}
	}
	for label, n := range t.Histogram {
		us := labels[label] - (first - t.Min)
		for i, b := range bounds {
			if us > float64(b/time.Microsecond) {
				r[i] += float64(n) / t.Duration
			}
		}
	}
	return r, d.Version, nil
}
