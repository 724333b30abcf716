package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

// container is how a runtime is to run an image.
type container struct {
	Root         string // the files of the image
	User         int
	Capabilities []int
	Volume       string // a directory of the host, as /run/otelgc
	HostPID      bool
	Args         []string
}

// asInit has the test binary make the container it is started in.
const asInit = "OTELGC_CONTAINER"

func TestMain(m *testing.M) {
	if spec := os.Getenv(asInit); spec != "" {
		runtime.LockOSThread() // capabilities are a thread's
		var c container
		err := json.Unmarshal([]byte(spec), &c)
		if err == nil {
			err = c.become()
		}
		fmt.Fprintln(os.Stderr, "container:", err)
		os.Exit(125)
	}
	os.Exit(m.Run())
}

// become makes the namespaces that this process was given into the container, and
// executes its program: a read-only root, no more rights than were named, and no way to
// new ones.
func (c *container) become() error {
	at := func(path string) string { return filepath.Join(c.Root, path) }
	mounts := []func() error{
		func() error { return unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, "") },
		func() error { return unix.Mount(c.Root, c.Root, "", unix.MS_BIND|unix.MS_REC, "") },
		func() error { return unix.Mount("/sys", at("sys"), "", unix.MS_BIND|unix.MS_REC, "") },
		func() error { return unix.Mount(c.Volume, at("run/otelgc"), "", unix.MS_BIND, "") },
		func() error {
			if c.HostPID {
				return unix.Mount("/proc", at("proc"), "", unix.MS_BIND|unix.MS_REC, "")
			}
			return unix.Mount("proc", at("proc"), "proc", 0, "")
		},
		func() error { return unix.Mount("", c.Root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "") },
		func() error { return unix.Chroot(c.Root) },
		func() error { return unix.Chdir("/") },
	}
	for i, f := range mounts {
		if err := f(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if err := c.drop(); err != nil {
		return err
	}
	return unix.Exec(c.Args[0], c.Args, []string{"PATH=/", "OTELGC_BOARD=/run/otelgc/board", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none", "OTEL_TRACES_EXPORTER=none"})
}

// drop takes the rights that were not named from this thread.
func (c *container) drop() error {
	keep := map[int]bool{}
	var data [2]unix.CapUserData
	for _, k := range c.Capabilities {
		keep[k] = true
		data[k/32].Effective |= 1 << (k % 32)
	}
	for k := 0; k <= unix.CAP_LAST_CAP; k++ {
		if !keep[k] {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(k), 0, 0, 0) // a kernel may know fewer
		}
	}
	if c.User != 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(c.User), syscall.Setuid(c.User)); err != nil {
			return fmt.Errorf("become user %d: %w", c.User, err)
		}
	}
	for i := range data {
		data[i].Permitted = data[i].Effective
	}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// run runs the container for as long as its program runs.
func (c container) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c.Args = append([]string{"/otelgc-sidecar"}, args...)
	c.Volume = t.TempDir()
	if err := os.Chown(c.Volume, c.User, c.User); err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{asInit + "=" + string(spec)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUTS, Pdeathsig: unix.SIGKILL}
	if !c.HostPID {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// unpacked builds the sidecar, makes its image, and returns the directory with its files.
func unpacked(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("skipped: make a container: run as root")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "otelgc-sidecar")
	build := exec.Command("go", "build", "-o", program, "./sidecar")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	o := options{
		out: filepath.Join(dir, "layout"), name: "otelgc-sidecar", version: "v0.1.0",
		license: "../../LICENSE", created: time.Unix(1764000000, 0),
	}
	if err := o.write([]string{"linux/" + runtime.GOARCH + "=" + program}); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	for _, mountpoint := range []string{"proc", "sys", "run/otelgc"} { // runtimes make them
		if err := os.MkdirAll(filepath.Join(root, mountpoint), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unpack(t, root, onlyImage(t, inside(t, o.out)))
	return root
}

func onlyImage(t *testing.T, index v1.ImageIndex) v1.Image {
	t.Helper()
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("%+v, %v, want one image", m, err)
	}
	image, err := index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func unpack(t *testing.T, root string, image v1.Image) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for in := tar.NewReader(r); ; {
			h, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			content, err2 := io.ReadAll(in)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, h.Name), content, h.FileInfo().Mode()); err != nil {
				t.Fatal(err)
			}
		}
		_ = r.Close() // it was read to its end
	}
}

// TestScratch runs the image as the sidecar of the chart does: a root that nobody can
// write, and no right but those of a feature.
func TestScratch(t *testing.T) {
	root := unpacked(t)
	nobody := container{Root: root, User: 65532}
	node := container{Root: root} // of root, without a right: services believe its board
	t.Run("version", func(t *testing.T) {
		out, errs, code := nobody.run(t, "version")
		if code != 0 || errs != "" || !strings.Contains(out, "kernel ") {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
	})
	t.Run("doctor", func(t *testing.T) {
		out, errs, code := nobody.run(t, "doctor", "--self-test=100ms")
		if code != 0 && code != 3 || errs != "" || !strings.Contains(out, "refused: permission denied") {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
	})
	t.Run("probe", func(t *testing.T) {
		out, errs, code := nobody.run(t, "probe", "--mode=periodic", "--duration=200ms", "--json")
		var document struct{ Schema string }
		if err := json.Unmarshal([]byte(out), &document); code != 0 || err != nil || document.Schema == "" {
			t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
		}
	})
	t.Run("run", func(t *testing.T) {
		_, errs, code := node.run(t, "run", "--mode=periodic", "--duration=500ms", "--json")
		if code != 0 || !strings.Contains(errs, "path=/run/otelgc/board") || strings.Contains(errs, "level=ERROR") {
			t.Errorf("exit %d: %s", code, errs)
		}
	})
	t.Run("go", func(t *testing.T) {
		c := node
		c.HostPID = true
		c.Capabilities = []int{unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH, unix.CAP_BPF, unix.CAP_PERFMON}
		out, errs, code := c.run(t, "run", "--mode=periodic", "--duration=2s", "--json", "--target", fmt.Sprint(os.Getpid()))
		var document struct{ Targets []struct{ PID int } }
		if err := json.Unmarshal([]byte(out), &document); code != 0 || err != nil || len(document.Targets) != 1 || document.Targets[0].PID != os.Getpid() {
			t.Errorf("exit %d, %v, targets %+v: %s", code, err, document.Targets, errs)
		}
		if !strings.Contains(errs, "watching a Go process") && !strings.Contains(errs, "Linux 6.6") {
			t.Errorf("neither watched nor refused by the kernel: %s", errs)
		}
	})
}
