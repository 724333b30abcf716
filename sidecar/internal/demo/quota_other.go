//go:build !linux

package demo

import (
	"fmt"

	"github.com/otelgc/otelgc/stall"
)

type quota struct{}

func newQuota() (*quota, error) {
	return nil, fmt.Errorf("make a cgroup with a quota: %w", stall.ErrNotSupported)
}

func (*quota) take(int) error { return nil }

func (*quota) remove() error { return nil }
