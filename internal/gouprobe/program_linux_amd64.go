package gouprobe

import "github.com/cilium/ebpf/asm"

// Where the kernel keeps registers (arch/x86/include/asm/ptrace.h, pt_regs).
const (
	regBX = 40
	regAX = 80
	regCX = 88
	regDI = 112
)

// entrySize is the size of what is kept of an entry: the first four words of a record.
const entrySize = 32

// flagNoWakeup leaves the reader asleep: it comes by itself (linux/bpf.h,
// BPF_RB_NO_WAKEUP).
const flagNoWakeup = 1

// stopProgram is the program of all probes. At the entry it keeps the arguments of the
// thread; at RET it writes a record of them. The arguments are file descriptors.
func stopProgram(ring, entered, drops int) asm.Instructions {
	const key, rec = -8, -8 - recordSize
	drop := asm.Instructions{
		asm.LoadMapValue(asm.R1, drops, 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
	}
	atKey := func(m int) asm.Instructions {
		return asm.Instructions{
			asm.LoadMapPtr(asm.R1, m),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, key),
		}
	}
	p := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetAttachCookie.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(asm.RFP, key, asm.R0, asm.DWord),
	}
	p = append(p, atKey(entered)...)
	p = append(p,
		asm.FnMapLookupElem.Call(),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.JEq.Imm(asm.R7, atReturn, "return"),
		// The thread is at the entry. If it was there before, its RET was missed.
		asm.JEq.Imm(asm.R8, 0, "enter"),
	)
	p = append(p, drop...)
	for i, r := range []int16{regAX, regBX, regCX, regDI} {
		load := asm.LoadMem(asm.R1, asm.R6, r, asm.DWord)
		if i == 0 {
			load = load.WithSymbol("enter")
		}
		p = append(p, load, asm.StoreMem(asm.RFP, rec+8*int16(i), asm.R1, asm.DWord))
	}
	p = append(p, atKey(entered)...)
	p = append(p,
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, rec),
		asm.Mov.Imm(asm.R4, 0), // BPF_ANY
		asm.FnMapUpdateElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.Ja.Label("drop"),
		// At RET, of which the entry may have been before the attach.
		asm.JEq.Imm(asm.R8, 0, "end").WithSymbol("return"),
	)
	for i := range int16(entrySize / 8) {
		p = append(p, asm.LoadMem(asm.R1, asm.R8, 8*i, asm.DWord), asm.StoreMem(asm.RFP, rec+8*i, asm.R1, asm.DWord))
	}
	p = append(p,
		asm.LoadMem(asm.R1, asm.R6, regAX, asm.DWord),
		asm.StoreMem(asm.RFP, rec+32, asm.R1, asm.DWord),
		asm.LoadMapValue(asm.R1, drops, 0),
		asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord),
		asm.StoreMem(asm.RFP, rec+40, asm.R1, asm.DWord),
	)
	p = append(p, atKey(entered)...)
	p = append(p,
		asm.FnMapDeleteElem.Call(),
		asm.LoadMapPtr(asm.R1, ring),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, rec),
		asm.Mov.Imm(asm.R3, recordSize),
		asm.Mov.Imm(asm.R4, flagNoWakeup),
		asm.FnRingbufOutput.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
	)
	drop = append(asm.Instructions{}, drop...)
	drop[0] = drop[0].WithSymbol("drop")
	p = append(p, drop...)
	return append(p, asm.Mov.Imm(asm.R0, 0).WithSymbol("end"), asm.Return())
}
