package hostwatch

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// layout is where a kernel keeps what is read of a task.
type layout struct {
	pid, tgid int16 // offsets in struct task_struct
}

// findLayout asks the kernel's own type information.
func findLayout() (layout, error) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return layout{}, fmt.Errorf("read kernel types: %w", err)
	}
	var task *btf.Struct
	if err := spec.TypeByName("task_struct", &task); err != nil {
		return layout{}, fmt.Errorf("find task_struct: %w", err)
	}
	l, found := layout{}, 0
	for _, m := range task.Members {
		const most = 1<<15 - 1 // an instruction's offset has 16 bits
		at := m.Offset.Bytes()
		switch m.Name {
		case "pid":
			l.pid = int16(at)
		case "tgid":
			l.tgid = int16(at)
		default:
			continue
		}
		if at > most {
			return layout{}, fmt.Errorf("find %s in task_struct: at offset %d, want at most %d", m.Name, at, most)
		}
		found++
	}
	if found != 2 {
		return layout{}, fmt.Errorf("find pid and tgid in task_struct: %d of them", found)
	}
	return l, nil
}

// flagNoWakeup leaves the reader asleep: it comes by itself (linux/bpf.h,
// BPF_RB_NO_WAKEUP).
const flagNoWakeup = 1

// writer assembles programs that write events of one process into a ring.
type writer struct {
	layout
	process     int32
	ring, drops int // file descriptors
}

// onWakeup is the program of sched_waking(task), sched_wakeup(task) and
// sched_wakeup_new(task).
func (w *writer) onWakeup(k kind) asm.Instructions {
	p := asm.Instructions{
		asm.LoadMem(asm.R7, asm.R1, 0, asm.DWord),
		asm.Mov.Imm(asm.R8, 0),
	}
	p = append(p, w.write(asm.R7, k, "end")...)
	return append(p, w.end("end")...)
}

// onSwitch is the program of sched_switch(preempt, prev, next, prev_state),
// which has the fourth argument since Linux 5.18.
func (w *writer) onSwitch() asm.Instructions {
	p := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R7, asm.R6, 8, asm.DWord),
		asm.LoadMem(asm.R8, asm.R6, 24, asm.DWord),
		// A preempted thread stays ready whatever state it was about to enter.
		asm.LoadMem(asm.R1, asm.R6, 0, asm.DWord),
		asm.And.Imm(asm.R1, 1),
		asm.JEq.Imm(asm.R1, 0, "chosen"),
		asm.Mov.Imm(asm.R8, 0),
		asm.LoadMem(asm.R7, asm.R6, 8, asm.DWord).WithSymbol("chosen"),
	}
	p = append(p, w.write(asm.R7, out, "next")...)
	p = append(p,
		asm.LoadMem(asm.R7, asm.R6, 16, asm.DWord).WithSymbol("next"),
		asm.Mov.Imm(asm.R8, 0),
	)
	p = append(p, w.write(asm.R7, in, "end")...)
	return append(p, w.end("end")...)
}

// onExec is the program of sched_process_exec(task, old_pid, bprm): a thread that
// executes takes the number of its process (execve(2)), and its own is no more.
func (w *writer) onExec() asm.Instructions {
	p := asm.Instructions{
		asm.LoadMem(asm.R7, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R9, asm.R1, 8, asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, w.tgid, asm.Word),
		asm.JNE.Imm(asm.R1, w.process, "end"),
		asm.JEq.Reg(asm.R1, asm.R9, "end"), // it had the number before
		asm.Mov.Imm(asm.R8, dead),
	}
	p = append(p, w.emit(out, "taken")...)
	p = append(p,
		asm.LoadMem(asm.R9, asm.R7, w.pid, asm.Word).WithSymbol("taken"),
		asm.Mov.Imm(asm.R8, 0),
	)
	p = append(p, w.emit(in, "end")...)
	return append(p, w.end("end")...)
}

// write writes an event of a task if it belongs to the process, with the state
// in R8, and goes on at label.
func (w *writer) write(task asm.Register, k kind, label string) asm.Instructions {
	return append(asm.Instructions{
		asm.LoadMem(asm.R1, task, w.tgid, asm.Word),
		asm.JNE.Imm(asm.R1, w.process, label),
		asm.LoadMem(asm.R9, task, w.pid, asm.Word),
	}, w.emit(k, label)...)
}

// emit writes an event of the thread in R9, with the state in R8, and goes on at
// label.
func (w *writer) emit(k kind, label string) asm.Instructions {
	const at, tid, state, what = -24, -16, -12, -8
	return asm.Instructions{
		asm.StoreMem(asm.RFP, tid, asm.R9, asm.Word),
		asm.StoreMem(asm.RFP, state, asm.R8, asm.Word),
		asm.Mov.Imm(asm.R1, int32(k)),
		asm.StoreMem(asm.RFP, what, asm.R1, asm.DWord),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.RFP, at, asm.R0, asm.DWord),
		asm.LoadMapPtr(asm.R1, w.ring),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, at),
		asm.Mov.Imm(asm.R3, eventSize),
		asm.Mov.Imm(asm.R4, flagNoWakeup),
		asm.FnRingbufOutput.Call(),
		asm.JEq.Imm(asm.R0, 0, label),
		asm.LoadMapValue(asm.R1, w.drops, 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
	}
}

func (w *writer) end(label string) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Imm(asm.R0, 0).WithSymbol(label),
		asm.Return(),
	}
}
