package doctor

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxConfig bounds the kernel's configuration; today's are 0.3 MB.
const maxConfig = 4 << 20

// kernel tells how the kernel ticks and preempts: it explains the grid on
// which gaps lie.
func (m *machine) kernel() []Check {
	config, file, err := m.kernelConfig()
	return []Check{hz(config, file, err), m.preemption(config, file, err)}
}

func hz(config, file string, err error) Check {
	c := about("kernel.hz", file)
	if err != nil {
		return c.unread(err)
	}
	n, err := strconv.Atoi(setting(config, "CONFIG_HZ"))
	if err != nil || n <= 0 {
		return c.none("no CONFIG_HZ")
	}
	return c.info(fmt.Sprintf("%d", n), fmt.Sprintf("a busy CPU ticks every %.3g ms: gaps on that grid are the tick's", 1000/float64(n)))
}

// preemption says how the kernel lets go of a CPU.
func (m *machine) preemption(config, file string, err error) Check {
	if n, err := m.number("sys/kernel/realtime"); err == nil && n == 1 {
		return about("kernel.preempt", "sys/kernel/realtime").info("PREEMPT_RT", "the whole kernel can be preempted")
	}
	const debug = "sys/kernel/debug/sched/preempt"
	if text, err := m.text(debug); err == nil {
		return about("kernel.preempt", debug).info(strings.Trim(parenthesised(text), "() "), "")
	}
	c := about("kernel.preempt", file)
	if err != nil {
		return c.unread(err)
	}
	value := "not known"
	for _, name := range []string{"NONE", "VOLUNTARY", "LAZY", "RT"} {
		if setting(config, "CONFIG_PREEMPT_"+name) == "y" {
			value = strings.ToLower(name)
		}
	}
	if setting(config, "CONFIG_PREEMPT") == "y" {
		value = "full"
	}
	if value == "not known" {
		return c.none("no CONFIG_PREEMPT_*")
	}
	if setting(config, "CONFIG_PREEMPT_DYNAMIC") == "y" {
		value += " as built, may be changed at boot (preempt=)"
	}
	return c.info(value, "")
}

// parenthesised returns the choice in force in a file such as
// "none (voluntary) full", or all of it.
func parenthesised(text string) string {
	return bracketed(strings.NewReplacer("(", "[", ")", "]").Replace(text))
}

// kernelConfig returns the configuration that the kernel was built with.
func (m *machine) kernelConfig() (text, file string, err error) {
	const zipped = "proc/config.gz"
	data, err := m.bytes(zipped, maxFile)
	if err == nil {
		text, err = gunzip(data)
		return text, zipped, err
	}
	release, e := m.text("proc/sys/kernel/osrelease")
	if e != nil || strings.ContainsAny(release, "/\x00") || release == "" {
		return "", zipped, err
	}
	file = "boot/config-" + release
	data, e = m.bytes(file, maxConfig)
	if e != nil {
		return "", zipped, err
	}
	return string(data), file, nil
}

func gunzip(data []byte) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(z, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = errors.New("longer than 4 MiB unpacked")
	}
	return string(text), err
}

// setting returns the value of one setting of a kernel's configuration.
func setting(config, name string) string {
	for line := range strings.Lines(config) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
