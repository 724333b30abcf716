//go:build !linux

package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime"
)

// supported: the key in the socket's name is a creation time that only
// Linux's /proc tells, and elsewhere the runtime uses other transports.
func supported() error {
	return fmt.Errorf("attach to .NET on %s: %w: there is no /proc", runtime.GOOS, errors.ErrUnsupported)
}

var errOpenat2 = errors.ErrUnsupported

func dial(context.Context, Endpoint) (net.Conn, error) { return nil, supported() }

func exists(Endpoint) (int, error) { return 0, supported() }

func nameIn(Endpoint, func(string) bool) string { return "" }

func readInRoot(string, string, int64) ([]byte, error) { return nil, supported() }

func peerOf(*net.UnixConn) (peer, error) { return peer{}, supported() }

func listenUnix(string, fs.FileMode) (*net.UnixListener, func(), error) { return nil, nil, supported() }
