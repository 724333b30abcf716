// Package gc describes one garbage collection as one coherent record.
//
// A record is never mixed from two collections, and a field that is not known
// is absent, never zero: see [Maybe].
package gc
