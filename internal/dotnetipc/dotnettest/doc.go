// Package dotnettest drives the real .NET process of package azmcp in tests.
// Without the program they skip, and say so.
package dotnettest
