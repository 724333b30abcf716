package doctor

import (
	"fmt"
	"strings"
)

const hugepages = "sys/kernel/mm/transparent_hugepage/"

// pages judges what the kernel does to memory behind a program's back.
func (m *machine) pages() []Check {
	return []Check{
		m.huge(),
		m.daemon("khugepaged", hugepages+"khugepaged/defrag", "khugepaged compacts memory to collapse huge pages: short stalls of whoever holds the locks"),
		m.daemon("compaction", "proc/sys/vm/compaction_proactiveness", "kcompactd moves pages ahead of need: set 0 while measuring"),
		m.daemon("ksm", "sys/kernel/mm/ksm/run", "merged pages are copied at the next write to them: a fault in the service"),
		m.daemon("damon", "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "kdamond samples page tables: a few faults, and a kernel thread"),
		m.numa(),
		m.node(),
	}
}

func (m *machine) huge() Check {
	c := about("thp", hugepages+"enabled")
	enabled, err := m.text(hugepages + "enabled")
	if err != nil {
		return c.unread(err)
	}
	defrag, err := m.text(hugepages + "defrag")
	if err != nil {
		return c.none("defrag: " + why(err))
	}
	enabled, defrag = bracketed(enabled), bracketed(defrag)
	value := fmt.Sprintf("%s, defrag %s", enabled, defrag)
	if enabled == "always" && defrag == "always" {
		return c.info(value, "a page fault may compact memory before it returns: set defrag to madvise or never")
	}
	return c.ok(value)
}

// daemon judges a setting that is best 0.
func (m *machine) daemon(id, file, advice string) Check {
	c := about(id, file)
	n, err := m.number(file)
	switch {
	case err != nil:
		return c.unread(err)
	case n == 0:
		return c.ok("0")
	}
	return c.info(fmt.Sprint(n), advice)
}

// swapping judges whether memory can be on disk.
func (m *machine) swapping() []Check {
	const file = "proc/swaps"
	c := about("swap", file)
	text, err := m.text(file)
	if err != nil {
		return []Check{c.unread(err)}
	}
	n := len(strings.Split(text, "\n")) - 1 // the first line is a heading
	if n <= 0 {
		return []Check{c.ok("none")}
	}
	locked, _ := field(m.status, "VmLck")
	value := plural(n, "area")
	if s, err := m.number("proc/sys/vm/swappiness"); err == nil {
		value += fmt.Sprintf(", swappiness %d", s)
	}
	if locked != "" && !strings.HasPrefix(locked, "0 ") {
		return []Check{c.info(value+", "+locked+" of the probe locked", "the service's memory may still be swapped out: its pauses are paging then")}
	}
	return []Check{c.warn(value, "a collector touches the whole heap: a pause over swapped memory lasts as long as the disk; swapoff, or limit memory")}
}
