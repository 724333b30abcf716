//go:build !linux

package pin

func allowed() []int { return nil }

// Process changes nothing: there is no way to pin here.
func Process([]int) error { return nil }

// Around just calls f: there is no way to pin here.
func Around(_ []int, f func() error) error { return f() }
