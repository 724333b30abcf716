// Package stock proves that collector-config.yaml at the root of the repository
// runs on a Collector that has nothing of ours: on the distribution otelcol, the
// smaller of the official ones.
//
// That distribution is not built here, as it has receivers of hundreds of modules
// that the file does not name. Its test is a Collector itself, of those components
// of the official list that the file names, in the versions of that list. The lists,
// in testdata, are the modules of the manifests:
//
//	sed -n 's/^ *- gomod: //p' manifest.yaml
package stock
