package gouprobe

import (
	"bytes"
	"errors"
)

// maxReturns bounds the RETs of the function. The compiler makes one.
const maxReturns = 8

var errCode = errors.New("startTheWorldWithSema does not begin and end as the Go compiler has functions begin and end")

// instructions finds the PUSHQ BP of a function and its RETs, as offsets in its code.
// It takes nothing but the very sequences that the compiler writes: a breakpoint
// elsewhere than on the first byte of an instruction would break the program.
func instructions(code []byte) (push int, returns []int, err error) {
	i := stackCheck(code)
	pushed, ok := bytes.CutPrefix(code[i:], []byte{0x55, 0x48, 0x89, 0xe5}) // PUSHQ BP; MOVQ SP, BP
	if i == 0 || !ok {
		return 0, nil, errCode
	}
	epilogue := epilogueOf(pushed)
	if epilogue == nil {
		return 0, nil, errCode
	}
	for at := 0; ; {
		k := bytes.Index(code[at:], epilogue)
		if k < 0 {
			break
		}
		if at += k + len(epilogue); len(returns) == maxReturns {
			return 0, nil, errCode
		}
		returns = append(returns, at-1)
	}
	if len(returns) == 0 {
		return 0, nil, errCode
	}
	return i, returns, nil
}

// stackCheck returns the length of the check of the stack that code begins with, 0
// if it begins with none:
//
//	CMPQ SP, 16(R14); JLS
//	LEAQ -n(SP), R12; CMPQ R12, 16(R14); JLS
func stackCheck(code []byte) int {
	rest, ok := bytes.CutPrefix(code, []byte{0x49, 0x3b, 0x66, 0x10})
	if !ok {
		switch {
		case bytes.HasPrefix(code, []byte{0x4c, 0x8d, 0x64, 0x24}) && len(code) > 5:
			rest = code[5:]
		case bytes.HasPrefix(code, []byte{0x4c, 0x8d, 0xa4, 0x24}) && len(code) > 8:
			rest = code[8:]
		default:
			return 0
		}
		if rest, ok = bytes.CutPrefix(rest, []byte{0x4d, 0x3b, 0x66, 0x10}); !ok {
			return 0
		}
	}
	switch {
	case len(rest) > 2 && rest[0] == 0x76:
		rest = rest[2:]
	case len(rest) > 6 && rest[0] == 0x0f && rest[1] == 0x86:
		rest = rest[6:]
	default:
		return 0
	}
	return len(code) - len(rest)
}

// epilogueOf returns what a function ends with that goes on with code when BP is
// saved: it gives its frame back, POPQ BP, RET. It is nil if code makes no frame.
func epilogueOf(code []byte) []byte {
	const add, sub = 0xc4, 0xec
	if len(code) < 7 || code[0] != 0x48 || code[1] != 0x83 && code[1] != 0x81 {
		return nil
	}
	size := code[3:4]
	if code[1] == 0x81 {
		size = code[3:7]
	}
	var undo byte
	switch {
	case code[2] == sub:
		undo = add
	case code[2] == add && code[1] == 0x83 && size[0] == 0x80: // 128 bytes are ADDQ $-128
		undo = sub
	default:
		return nil
	}
	return append(append([]byte{0x48, code[1], undo}, size...), 0x5d, 0xc3)
}
