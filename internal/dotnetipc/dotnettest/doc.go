// Package dotnettest drives a real, unmodified .NET process for tests: azmcp,
// the .NET 10 program in the npm package @azure/mcp-linux-x64, a server that
// speaks JSON-RPC on its standard input and output. What it is asked for
// decides which collections it makes.
//
// The program is $OTELGC_AZMCP, else azmcp-linux-x64 or azmcp on the PATH, else
// what .ci/run put into .cache/npm. Without it tests skip, and say so.
package dotnettest
