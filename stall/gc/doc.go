// Package gc describes one garbage collection as one coherent record.
//
// A record is never mixed from two collections, and a field that is not known
// is absent, never zero: see [Maybe]. The package knows no runtime: what a field
// holds of a Go cycle and of a .NET collection is said at the field, and the
// sources fill it in.
package gc
