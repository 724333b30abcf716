package stall

// cursor finds the items of a list that overlap spans. It visits every item
// that is over once and no more, even if older ones still last, as it unlinks
// what is over.
type cursor struct {
	spans  []Span
	next   []int32 // index of the next item that may still matter
	head   int32
	sorted bool    // by start: later items need no look
	from   Instant // items that end before it may be unlinked
}

// load fills c with the spans of list, and keeps nothing of it.
func load[T any](c *cursor, list []T, span func(*T) Span) {
	c.spans, c.next, c.sorted = c.spans[:0], c.next[:0], true
	for i := range list {
		s := span(&list[i])
		if i > 0 && s.Start < c.spans[i-1].Start {
			c.sorted = false
		}
		c.spans = append(c.spans, s)
		c.next = append(c.next, 0)
	}
	c.rewind()
}

func (c *cursor) rewind() {
	for i := range c.next {
		c.next[i] = int32(i + 1)
	}
	c.head = 0
	c.from = -1 << 63
}

// overlaps appends to dst the indices of the items that overlap s, in the order
// of the list.
func (c *cursor) overlaps(dst []int32, s Span) []int32 {
	if s.Start < c.from {
		c.rewind()
	}
	c.from = s.Start
	link := &c.head
	for i := *link; int(i) < len(c.spans); i = *link {
		v := c.spans[i]
		if v.End <= s.Start || v.Empty() {
			*link = c.next[i]
			continue
		}
		if v.Start < s.End {
			dst = append(dst, i)
		} else if c.sorted {
			break
		}
		link = &c.next[i]
	}
	return dst
}
