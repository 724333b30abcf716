package dotnetipc

import (
	"context"
	"errors"
	"fmt"
)

// Cookie names one run of one runtime.
type Cookie [16]byte

// String returns the cookie in hex.
func (c Cookie) String() string { return fmt.Sprintf("%x", c[:]) }

// ProcessInfo is what a runtime says of itself. What its version does not say
// is empty.
type ProcessInfo struct {
	PID           uint64 // in the process's own pid namespace
	Cookie        Cookie
	CommandLine   string
	OS            string // such as "Linux"
	Arch          string // such as "x64"
	EntryAssembly string // .NET 6; without its extension
	Version       string // .NET 6; of the runtime, such as "10.0.9"
	RID           string // .NET 8; such as "linux-x64"
}

// ProcessInfo asks the runtime for its identity: by ProcessInfo3, and by what older
// runtimes know instead.
func (c *Client) ProcessInfo(ctx context.Context) (ProcessInfo, error) {
	for _, cmd := range []command{processInfo3, processInfo2} {
		info, err := c.processInfo(ctx, cmd)
		if !errors.Is(err, UnknownCommand) {
			return info, err
		}
	}
	return c.processInfo(ctx, processInfo)
}

func (c *Client) processInfo(ctx context.Context, cmd command) (ProcessInfo, error) {
	payload, err := c.ask(ctx, cmd, nil)
	if err != nil {
		return ProcessInfo{}, fmt.Errorf("ask %v who it is: %w", c, err)
	}
	info, err := decodeInfo(cmd, payload)
	if err != nil {
		return ProcessInfo{}, fmt.Errorf("ask %v who it is: read %v: %w", c, cmd, err)
	}
	return info, nil
}

// decodeInfo reads the answer to cmd. What a later version appends is ignored.
func decodeInfo(cmd command, payload []byte) (ProcessInfo, error) {
	d := decoder{b: payload}
	if cmd == processInfo3 {
		d.u32() // version of the answer; fields are only ever appended
	}
	info := ProcessInfo{PID: d.u64(), Cookie: d.cookie(), CommandLine: d.text(), OS: d.text(), Arch: d.text()}
	if cmd != processInfo {
		info.EntryAssembly, info.Version = d.text(), d.text()
	}
	if cmd == processInfo3 {
		info.RID = d.text()
	}
	if d.err != nil {
		return ProcessInfo{}, d.err
	}
	return info, nil
}
