package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Environment variables by which the binary knows that it is a child.
const (
	roleVariable    = "OTELGC_DEMO_ROLE"
	optionsVariable = "OTELGC_DEMO_OPTIONS"

	roleService = "service"
	roleHog     = "hog"
)

// errTold is the failure of a child whose parent knows why.
var errTold = errors.New("the parent was told")

// Role plays the part of a child if this process is one, and returns its exit
// code.
func Role() (code int, is bool) {
	part := map[string]func(childOptions) error{roleService: serve, roleHog: hog}[os.Getenv(roleVariable)]
	if part == nil {
		return 0, false
	}
	var o childOptions
	err := json.Unmarshal([]byte(os.Getenv(optionsVariable)), &o)
	if err == nil {
		err = part(o)
	}
	if errors.Is(err, errTold) {
		return 1, true
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "otelgc-sidecar: demo %s: %v\n", os.Getenv(roleVariable), err)
		return 1, true
	}
	return 0, true
}
