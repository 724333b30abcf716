// Package tools has a module of its own for mdatagen, which makes what is
// generated in package stallconnector:
//
//	go tool -modfile=../internal/tools/go.mod mdatagen metadata.yaml
package tools
