//go:build !race

// Package race says whether the race detector is built in, for tests that have
// less to ask then.
package race

// Enabled says that the race detector is built in.
const Enabled = false
