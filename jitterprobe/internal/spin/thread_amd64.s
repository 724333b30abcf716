//go:build linux && !noasm

#include "textflag.h"

// Offsets of Control; thread_linux.go holds the compiler to them.
#define GO		0
#define STOP		8
#define THRESHOLD	16
#define MASK		24
#define RECORDS		32
#define FIRST		40
#define HEAD		64
#define ITERS		72
#define LAST		80
#define WHOLE		88
#define WHOLETIME	96
#define DROPS		104
#define DROPTICKS	112
#define DROPMAX		120
#define TAIL		128
#define STAMP0		136
#define STAMP1		152
#define SLEEP		168
#define BLOCKLEN	1024

#define SYS_CLONE	56
#define SYS_EXIT	60
#define SYS_NANOSLEEP	35
#define SYS_CLOCK_GETTIME	228
#define CLOCK_MONOTONIC	1

// func clone(flags, stack uintptr, control *Control, childTid *uint32) (tid int64)
TEXT ·clone(SB), NOSPLIT, $0-40
	MOVQ	flags+0(FP), DI
	MOVQ	stack+8(FP), SI
	MOVQ	control+16(FP), R12
	MOVQ	childTid+24(FP), R10
	XORL	DX, DX
	XORL	R8, R8
	MOVL	$SYS_CLONE, AX
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	MOVQ	AX, tid+32(FP)
	RET

	// The new thread: no g, no stack use, all signals blocked. R12 holds the
	// control block; nothing below may call, push or fault.
child:
	PAUSE
	MOVQ	STOP(R12), AX
	CMPQ	AX, $1			// a stall waits for the loop
	JEQ	exit
	MOVQ	GO(R12), AX
	TESTQ	AX, AX
	JZ	child
	MOVQ	THRESHOLD(R12), R9
	MOVQ	MASK(R12), R13
	MOVQ	RECORDS(R12), R14
	XORL	R15, R15		// iterations
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, R8			// previous read
	MOVQ	AX, R11			// start of the block
	MOVQ	AX, FIRST(R12)
	MOVQ	AX, LAST(R12)
	MOVL	$BLOCKLEN, CX
loop:
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, R10
	SUBQ	R8, R10
	CMPQ	R10, R9
	JCC	gap
	MOVQ	AX, R8
	DECQ	CX
	JNZ	loop

	// A whole block without a gap: its length says what an iteration costs.
	ADDQ	$BLOCKLEN, R15
	MOVQ	AX, BX
	SUBQ	R11, BX
	ADDQ	BX, WHOLETIME(R12)
	INCQ	WHOLE(R12)
publish:
	// x86 keeps the order of stores: who sees LAST sees every record before it.
	MOVQ	R15, ITERS(R12)
	MOVQ	AX, LAST(R12)
	MOVQ	AX, R11
	MOVL	$BLOCKLEN, CX
	MOVQ	STOP(R12), BX
	TESTQ	BX, BX
	JZ	loop
	CMPQ	BX, $2
	JEQ	stall
exit:
	XORL	DI, DI
	MOVL	$SYS_EXIT, AX		// this thread only
	SYSCALL
	INT	$3

gap:
	MOVL	$(BLOCKLEN+1), BX
	SUBQ	CX, BX
	ADDQ	BX, R15
	MOVQ	HEAD(R12), BX
	MOVQ	BX, DI
	SUBQ	TAIL(R12), DI
	CMPQ	DI, R13
	JHI	drop
	MOVQ	BX, DI
	ANDQ	R13, DI
	SHLQ	$4, DI
	MOVQ	R8, 0(R14)(DI*1)
	MOVQ	AX, 8(R14)(DI*1)
	INCQ	BX
	MOVQ	BX, HEAD(R12)
	JMP	next
drop:
	INCQ	DROPS(R12)
	ADDQ	R10, DROPTICKS(R12)
	CMPQ	R10, DROPMAX(R12)
	JLS	next
	MOVQ	R10, DROPMAX(R12)
next:
	// The counter is not read anew: what recording costs is part of the next
	// iteration, so no time goes unseen.
	MOVQ	AX, R8
	JMP	publish

	// A test has the thread sleep and stamp it by itself. A system call
	// clobbers RAX, RCX and R11; R8 is the last read, as before.
stall:
	MOVL	$CLOCK_MONOTONIC, DI
	LEAQ	STAMP0(R12), SI
	MOVL	$SYS_CLOCK_GETTIME, AX
	SYSCALL
	LEAQ	SLEEP(R12), DI
	XORL	SI, SI
	MOVL	$SYS_NANOSLEEP, AX
	SYSCALL
	MOVL	$CLOCK_MONOTONIC, DI
	LEAQ	STAMP1(R12), SI
	MOVL	$SYS_CLOCK_GETTIME, AX
	SYSCALL
	MOVQ	$0, STOP(R12)
	MOVQ	R8, R11
	MOVL	$BLOCKLEN, CX
	JMP	loop
