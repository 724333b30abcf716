//go:build !linux

package gcwatch

import "time"

// processAge is not known without /proc.
func processAge() (time.Duration, bool) { return 0, false }
