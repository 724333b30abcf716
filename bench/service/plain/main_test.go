package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlain: the service that is watched from outside has nothing of otelgc in it.
func TestPlain(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, path := range strings.Fields(string(list)) {
		if strings.Contains(path, "otelgc") {
			ours = append(ours, path)
		}
	}
	const here = "github.com/otelgc/otelgc/bench/service/"
	if d := cmp.Diff([]string{here + "drop", here + "shop", here + "plain"}, ours); d != "" {
		t.Errorf("packages of ours (-want +got):\n%s", d)
	}
}
