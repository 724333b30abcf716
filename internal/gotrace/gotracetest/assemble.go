package gotracetest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// eventNames are the names of internal/trace/tracev2 in the order of the wire;
// "" is EvNone.
var eventNames = strings.Split(",EventBatch,Stacks,Stack,Strings,String,CPUSamples,CPUSample,Frequency,"+
	"ProcsChange,ProcStart,ProcStop,ProcSteal,ProcStatus,"+
	"GoCreate,GoCreateSyscall,GoStart,GoDestroy,GoDestroySyscall,GoStop,GoBlock,GoUnblock,"+
	"GoSyscallBegin,GoSyscallEnd,GoSyscallEndBlocked,GoStatus,STWBegin,STWEnd,"+
	"GCActive,GCBegin,GCEnd,GCSweepActive,GCSweepBegin,GCSweepEnd,"+
	"GCMarkAssistActive,GCMarkAssistBegin,GCMarkAssistEnd,HeapAlloc,HeapGoal,"+
	"GoLabel,UserTaskBegin,UserTaskEnd,UserRegionBegin,UserRegionEnd,UserLog,"+
	"GoSwitch,GoSwitchDestroy,GoCreateBlocked,GoStatusStack,ExperimentalBatch,"+
	"Sync,ClockSnapshot,EndOfGeneration", ",")

// Assemble turns the text form of a trace into its bytes. A line is a header
// ("Trace Go1.22"), an event with its arguments in the order of the wire
// ("GoStart dt=1 g=1 g_seq=1"), a frame of the stack above it ("pc=1 func=2
// file=3 line=4"), or the data of the string above it (data="text"). The size
// of a batch is taken as it is written, unless it is "auto".
func Assemble(text string) ([]byte, error) {
	var a assembler
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := a.line(line); err != nil {
			return nil, fmt.Errorf("assemble line %d: %w", n+1, err)
		}
	}
	a.close()
	return a.out, nil
}

type assembler struct {
	out  []byte
	auto int // where the data of a batch with size=auto begins, 0 if none is open
}

func (a *assembler) line(line string) error {
	if version, ok := strings.CutPrefix(line, "Trace Go"); ok {
		a.out = append(a.out, "go "+version+" trace\x00\x00\x00"...)
		return nil
	}
	if quoted, ok := strings.CutPrefix(line, "data="); ok {
		data, err := strconv.Unquote(quoted)
		if err != nil {
			return fmt.Errorf("parse %s: %w", quoted, err)
		}
		a.out = binary.AppendUvarint(a.out, uint64(len(data)))
		a.out = append(a.out, data...)
		return nil
	}
	fields := strings.Fields(line)
	if strings.HasPrefix(line, "pc=") {
		return a.args(fields)
	}
	typ := slices.Index(eventNames, fields[0])
	if typ < 0 {
		return fmt.Errorf("parse event %q: no such name", fields[0])
	}
	if fields[0] == "EventBatch" || fields[0] == "EndOfGeneration" {
		a.close()
	}
	a.out = append(a.out, byte(typ))
	return a.args(fields[1:])
}

func (a *assembler) args(fields []string) error {
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if name == "size" && value == "auto" {
			a.auto = len(a.out)
			continue
		}
		v, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("parse argument %q: %w", f, err)
		}
		a.out = binary.AppendUvarint(a.out, v)
	}
	return nil
}

// close writes the size of a batch whose size is to be found.
func (a *assembler) close() {
	if a.auto == 0 {
		return
	}
	size := binary.AppendUvarint(nil, uint64(len(a.out)-a.auto))
	a.out = slices.Insert(a.out, a.auto, size...)
	a.auto = 0
}
