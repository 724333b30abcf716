package kernel

import (
	"encoding/binary"
	"fmt"
)

// softirqs are the names of <linux/interrupt.h>, in its order.
var softirqs = [...]string{
	"softirq HI", "softirq TIMER", "softirq NET_TX", "softirq NET_RX", "softirq BLOCK",
	"softirq IRQ_POLL", "softirq TASKLET", "softirq SCHED", "softirq HRTIMER", "softirq RCU",
}

// maxNames bounds the names of interrupts that are kept.
const maxNames = 1 << 10

func (c *cpu) name(p *point, raw []byte) string {
	if p.field == 0 || len(raw) < p.field+4 {
		return p.name
	}
	n := binary.LittleEndian.Uint32(raw[p.field:])
	if p.soft && n < uint32(len(softirqs)) {
		return softirqs[n]
	}
	key := uint64(n)
	if name, ok := c.names[key]; ok {
		return name
	}
	if len(c.names) >= maxNames {
		return p.name
	}
	name := fmt.Sprintf("irq %d%s", n, device(n))
	c.names[key] = name
	return name
}
