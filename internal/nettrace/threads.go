package nettrace

// captured is what is known of a thread that records events.
type captured struct {
	seq uint32 // of its last event
	at  Ticks  // of its last event, 0 if none was seen
}

// threads knows the threads of the stream.
type threads struct {
	captured map[uint64]*captured // by capture thread
	last     *captured            // the one asked for last
	lastID   uint64
	forgot   bool // the map is not all that was seen
	rows     map[uint64]threadRow

	mostCaptured, mostRows int // that the maps have held
}

// threadRow is what format 6 says of a thread, by its index.
type threadRow struct {
	pid  int
	id   uint64
	know bool // the id
}

// find returns what is known of a thread, and whether it was seen before.
func (t *threads) find(id uint64, limit int, s *Stats) (*captured, bool) {
	if t.last != nil && t.lastID == id {
		return t.last, true
	}
	c, seen := t.captured[id]
	if !seen {
		if len(t.captured) >= limit {
			s.Forgotten += uint64(len(t.captured))
			t.forget()
		}
		c = &captured{}
		t.captured[id] = c
		t.mostCaptured = max(t.mostCaptured, len(t.captured))
	}
	t.last, t.lastID = c, id
	return c, seen
}

// forget drops the sequence numbers: the next ones cannot be judged.
func (t *threads) forget() {
	t.forgetNumbers()
	t.forgot = true
}

func (t *threads) forgetNumbers() {
	t.captured, t.mostCaptured, t.last = make(map[uint64]*captured), 0, nil
}

// resolve returns the process of a thread, if the stream says it, and the
// operating system's id, or what there is.
func (t *threads) resolve(index uint64) (pid int, id uint64) {
	if t.rows == nil {
		return 0, index // before format 6, it is the id
	}
	row := t.rows[index]
	if !row.know {
		return row.pid, index
	}
	return row.pid, row.id
}

// defineThreads reads a thread block of format 6: rows of u16 length, each an index
// and optional parts.
func (r *Reader) defineThreads(c *cursor) error {
	t, limit := &r.threads, r.limits.Threads
	if t.rows == nil {
		t.rows = make(map[uint64]threadRow)
	}
	for c.more() {
		r.steps++
		row := c.sub(int(c.u16()))
		index := row.uvarint()
		info := readThread(&row)
		if row.bad {
			return broken("thread row is too short")
		}
		if len(t.rows) >= limit {
			if _, known := t.rows[index]; !known {
				return overLimit("threads", uint64(len(t.rows))+1, uint64(limit))
			}
		}
		t.rows[index] = info
		t.mostRows = max(t.mostRows, len(t.rows))
	}
	if c.bad {
		return broken("thread block ends within a row")
	}
	return nil
}

func readThread(c *cursor) threadRow {
	var row threadRow
	for c.more() {
		switch c.u8() {
		case 1: // name
			c.text()
		case 2:
			row.pid = int(c.uvarint32())
		case 3:
			row.id, row.know = c.uvarint(), true
		case 4: // key and value
			c.text()
			c.text()
		default:
			return row
		}
	}
	return row
}
