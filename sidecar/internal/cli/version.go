package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/otelgc/otelgc/sidecar/internal/doctor"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// build is what this program says of itself, and of the kernel it runs on.
type build struct {
	Schema   string         `json:"schema"`
	Version  string         `json:"version"`            // of the module
	Commit   string         `json:"commit,omitempty"`   // that it was built at
	Modified bool           `json:"modified,omitempty"` // the tree had changes that no commit has
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	Kernel   string         `json:"kernel,omitempty"` // its release
	Features []doctor.Check `json:"features"`         // of the kernel that the sidecar asks for
}

// defineVersion is the command that prints which program this is, and what the kernel
// lets it do.
func defineVersion(*flag.FlagSet) func(env) error {
	return func(e env) error {
		b := build{
			Schema: "otelgc.version/1", Version: version(), Go: runtime.Version(),
			Platform: runtime.GOOS + "/" + runtime.GOARCH, Features: []doctor.Check{},
		}
		b.Commit, b.Modified = commit()
		if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
			b.Kernel = strings.TrimSpace(string(release))
		}
		checks, err := doctor.Features()
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		b.Features = append(b.Features, checks...)
		return e.print(func() any { return b }, b.print)
	}
}

func (b *build) print(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "otelgc-sidecar %s", b.Version)
	if b.Commit != "" {
		fmt.Fprintf(&text, " commit %s", b.Commit)
	}
	if b.Modified {
		text.WriteString(" with changes")
	}
	fmt.Fprintf(&text, " %s %s\n", b.Go, b.Platform)
	if b.Kernel != "" {
		fmt.Fprintf(&text, "kernel %s\n", textfmt.Printable(b.Kernel))
	}
	for _, c := range b.Features {
		fmt.Fprintf(&text, "  %-4s  %-18s  %s\n", c.Status, c.ID, textfmt.Printable(c.Value))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// version returns the version of this program's module, by its build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// commit returns the commit that this program was built at, empty where the build does
// not say it, and whether the tree had changes beside it.
func commit() (revision string, modified bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return revision, modified
}
