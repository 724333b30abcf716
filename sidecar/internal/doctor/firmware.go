package doctor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// firmware judges what no kernel can see.
func (m *machine) firmware() []Check {
	return []Check{m.machineChecks(), m.smi(), m.mitigations()}
}

func (m *machine) machineChecks() Check {
	file := "sys/devices/system/machinecheck/machinecheck" + strconv.Itoa(max(m.cpu, 0)) + "/check_interval"
	c := about("mce", file)
	text, err := m.text(file)
	if err != nil {
		return c.unread(err)
	}
	n, err := strconv.ParseInt(text, 16, 32) // in hexadecimal (Documentation/arch/x86/x86_64/machinecheck.rst)
	switch {
	case err != nil:
		return c.none(fmt.Sprintf("holds %.20q, not a number", text))
	case n == 0:
		return c.ok("no polling")
	}
	return c.info(fmt.Sprintf("polled every %d s", n), "")
}

// msrSMICount is MSR_SMI_COUNT of Intel's CPUs (SDM volume 4, table 2-2).
const msrSMICount = 0x34

func (m *machine) msrFile() string { return "dev/cpu/" + strconv.Itoa(max(m.cpu, 0)) + "/msr" }

// smiCount returns how many system management interrupts there have been.
func (m *machine) smiCount() (uint64, error) {
	if text, err := m.text("proc/cpuinfo"); err == nil {
		if vendor, _ := field(text, "vendor_id"); vendor != "GenuineIntel" {
			return 0, errors.New("only Intel's CPUs count them")
		}
	}
	f, err := m.Open(m.msrFile())
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // read only
	at, ok := f.(io.ReaderAt)
	if !ok {
		return 0, errors.New("cannot be read at an offset")
	}
	var b [8]byte
	if _, err := at.ReadAt(b[:], msrSMICount); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

func (m *machine) smi() Check {
	c := about("smi", m.msrFile())
	if m.after.smiErr != nil {
		return c.unread(m.after.smiErr)
	}
	if m.before.smiErr != nil {
		return c.unread(m.before.smiErr)
	}
	switch n := m.after.smi - min(m.after.smi, m.before.smi); {
	case n > 0:
		return c.warn(fmt.Sprintf("%d in the self-test", n), "the firmware stops all CPUs: look for power and USB legacy settings in the BIOS")
	case m.tested:
		return c.ok(fmt.Sprintf("0 in the self-test, %d since boot", m.after.smi))
	}
	return c.info(fmt.Sprintf("%d since boot", m.after.smi), "")
}

func (m *machine) mitigations() Check {
	const dir = "sys/devices/system/cpu/vulnerabilities"
	c := about("mitigations", dir)
	names, err := m.list(dir)
	if err != nil {
		return c.unread(err)
	}
	mitigated, vulnerable := 0, 0
	for _, name := range names {
		text, err := m.text(dir + "/" + name)
		switch {
		case err != nil:
		case strings.HasPrefix(text, "Mitigation"):
			mitigated++
		case strings.HasPrefix(text, "Vulnerable"):
			vulnerable++
		}
	}
	return c.info(fmt.Sprintf("%d in force, %d left open", mitigated, vulnerable), "they set the price of each system call and interrupt; compare only machines with the same")
}
