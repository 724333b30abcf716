package nettrace

import (
	"strconv"
	"time"
)

// Header is what a stream says of itself.
type Header struct {
	Version     int // of the format: 4, 5 or 6
	PointerSize int // 4 or 8
	Frequency   Frequency
	// SyncTicks and SyncTime are the same moment, the second with a resolution
	// of a millisecond.
	SyncTicks  Ticks
	SyncTime   time.Time
	PID        int // 0 if the stream does not say
	Processors int // 0 if the stream does not say
}

// traceBytes is the length of the trace object of formats 4 and 5.
const traceBytes = 48

// readTrace reads the trace object of formats 4 and 5, or the trace block of 6.
func readTrace(body []byte, version int) (Header, error) {
	h := Header{Version: version}
	c := cursor{b: body}
	h.SyncTime = readSystemTime(&c)
	h.SyncTicks = Ticks(c.u64())
	frequency := int64(c.u64())
	pointer := int32(c.u32())
	h.Frequency, h.PointerSize = Frequency(frequency), int(pointer)
	if version < 6 {
		h.PID, h.Processors = int(int32(c.u32())), int(int32(c.u32()))
		c.u32() // the expected rate of CPU samples
	} else {
		readKeyValues(&c, &h)
	}
	switch {
	case c.bad:
		return h, broken("trace of %d bytes is too short", len(body))
	case frequency <= 0:
		return h, broken("tick frequency %d", frequency)
	case pointer != 4 && pointer != 8:
		return h, broken("pointer size %d, want 4 or 8", pointer)
	}
	return h, nil
}

// readSystemTime reads a Windows SYSTEMTIME: year, month, day of the week, day,
// hour, minute, second and millisecond.
func readSystemTime(c *cursor) time.Time {
	var v [8]int
	for i := range v {
		v[i] = int(c.u16())
	}
	return time.Date(v[0], time.Month(v[1]), v[3], v[4], v[5], v[6], v[7]*1e6, time.UTC)
}

func readKeyValues(c *cursor, h *Header) {
	n := c.u32()
	if n > MaxKeyValues {
		c.bad = true
		return
	}
	for range n {
		key, value := c.text(), c.text()
		if c.bad {
			return
		}
		number, _ := strconv.Atoi(string(value))
		switch string(key) {
		case "ProcessId":
			h.PID = number
		case "HardwareThreadCount":
			h.Processors = number
		}
	}
}
