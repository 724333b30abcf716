package demo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// dirPrefix is how the name of the demo's directory begins.
const dirPrefix = "otelgc-demo-"

// errOrphaned says that nobody is there to be told.
var errOrphaned = errors.New("the parent is gone")

// orphaned reports whether the parent is gone: the system gives its children to
// another process then. Elsewhere than on Unix it does not, and nobody knows.
func (o *childOptions) orphaned() bool { return os.Getppid() != o.Parent }

// tidy removes what a parent that was killed left behind. The name of the directory
// comes from the environment: what is not a demo's stays.
func (o *childOptions) tidy() {
	if o.orphaned() && strings.HasPrefix(filepath.Base(o.Dir), dirPrefix) {
		_ = os.RemoveAll(o.Dir) // nobody is there to be told
	}
}
