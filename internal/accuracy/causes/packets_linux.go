package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// packetEvery is the time between two packets.
const packetEvery = time.Millisecond + 53*time.Microsecond

// receive sends packets to itself over the loopback device of a network
// namespace that has nobody else in it, where cpu is told to take them in: each
// is a softirq of that CPU between the sending and the receipt.
func receive(cpu int, clock stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error) {
	if err := steer(cpu); err != nil {
		return nil, err
	}
	if _, err := jitterprobe.Reserve(cpu); err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("send packets: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	packet := make([]byte, 64)
	for {
		select {
		case <-quit:
			return truth, nil
		case <-time.After(packetEvery):
		}
		s := stall.Span{Start: clock.Now()}
		if _, err := conn.WriteTo(packet, conn.LocalAddr()); err != nil {
			return nil, fmt.Errorf("send packet: %w", err)
		}
		if _, _, err := conn.ReadFrom(packet); err != nil {
			return nil, fmt.Errorf("receive packet: %w", err)
		}
		s.End = clock.Now()
		truth = append(truth, s)
	}
}

// steer brings up the loopback device, and has cpu receive for it
// (Documentation/networking/scaling.rst, RPS).
func steer(cpu int) error {
	if err := up("lo"); err != nil {
		return err
	}
	// sysfs shows the network of who mounted it.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	const file = "/sys/class/net/lo/queues/rx-0/rps_cpus"
	if err := os.WriteFile(file, []byte(mask(cpu)), 0o644); err != nil {
		return fmt.Errorf("steer packets to CPU %d: %w", cpu, err)
	}
	return nil
}

// mask writes the set of one CPU as the kernel reads it: words of 32 bits in
// hexadecimal, the highest first.
func mask(cpu int) string {
	return fmt.Sprintf("%x", uint32(1)<<(cpu%32)) + strings.Repeat(",00000000", cpu/32)
}

func up(device string) (err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	request, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request); err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	return nil
}
