package hostcount

import "bytes"

// Online returns how many CPUs the machine has on line, whichever of them the
// process may use: its cgroups may hold others. It is 0 where that is not known
// (Documentation/admin-guide/cputopology.rst).
func (p *Process) Online() (n int) {
	one := file{root: p.root, name: "sys/devices/system/cpu/online"}
	defer one.close()
	text, err := one.read()
	if err != nil {
		return 0
	}
	const most = 1 << 16 // CPUs
	for part := range bytes.SplitSeq(bytes.TrimSpace(text), []byte(",")) {
		low, high, is := bytes.Cut(part, []byte("-"))
		if !is {
			high = low
		}
		from, ok1 := number(low)
		to, ok2 := number(high)
		if !ok1 || !ok2 || to < from || to >= most || n >= most {
			return 0
		}
		n += int(to-from) + 1
	}
	return n
}
