// Package azmcp drives a real, unmodified .NET process, for tests and for
// measurements: azmcp, the .NET 10 program in the npm package
// @azure/mcp-linux-x64, a server that speaks JSON-RPC on its standard input and
// output. What it is asked for decides which collections it makes.
package azmcp
