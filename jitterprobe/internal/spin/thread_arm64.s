//go:build linux && !noasm

#include "textflag.h"

// Run under an emulator, not on hardware so far. Offsets of Control; thread_linux.go holds
// the compiler to them.
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

#define SYS_CLONE	220
#define SYS_EXIT	93
#define SYS_NANOSLEEP	101
#define SYS_CLOCK_GETTIME	113
#define CLOCK_MONOTONIC	1

// func clone(flags, stack uintptr, control *Control, childTid *uint32) (tid int64)
TEXT ·clone(SB), NOSPLIT, $0-40
	MOVD	flags+0(FP), R0
	MOVD	stack+8(FP), R1
	MOVD	control+16(FP), R19
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	childTid+24(FP), R4
	MOVD	$SYS_CLONE, R8
	SVC
	CBZ	R0, child
	MOVD	R0, tid+32(FP)
	RET

	// The new thread: no g, no stack use, all signals blocked. R19 holds the
	// control block; nothing below may call, push or fault.
child:
	YIELD
	ADD	$STOP, R19, R5
	LDAR	(R5), R0
	CMP	$1, R0		// a stall waits for the loop
	BEQ	exit
	LDAR	(R19), R0	// GO
	CBZ	R0, child
	MOVD	THRESHOLD(R19), R9
	MOVD	MASK(R19), R13
	MOVD	RECORDS(R19), R14
	ADD	$HEAD, R19, R20
	ADD	$LAST, R19, R21
	ADD	$TAIL, R19, R22
	MOVD	ZR, R15		// iterations
	MRS	CNTVCT_EL0, R0
	MOVD	R0, R1		// previous read
	MOVD	R0, R11		// start of the block
	MOVD	R0, FIRST(R19)
	STLR	R0, (R21)
	MOVD	$BLOCKLEN, R3
loop:
	MRS	CNTVCT_EL0, R0
	SUB	R1, R0, R10
	CMP	R9, R10
	BHS	gap
	MOVD	R0, R1
	SUBS	$1, R3, R3
	BNE	loop

	// A whole block without a gap: its length says what an iteration costs.
	ADD	$BLOCKLEN, R15, R15
	SUB	R11, R0, R4
	MOVD	WHOLETIME(R19), R5
	ADD	R4, R5, R5
	MOVD	R5, WHOLETIME(R19)
	MOVD	WHOLE(R19), R5
	ADD	$1, R5, R5
	MOVD	R5, WHOLE(R19)
publish:
	// Store-release: who sees LAST sees every record before it.
	MOVD	R15, ITERS(R19)
	STLR	R0, (R21)
	MOVD	R0, R11
	MOVD	$BLOCKLEN, R3
	MOVD	STOP(R19), R5
	CBZ	R5, loop
	CMP	$2, R5
	BEQ	stall
exit:
	MOVD	ZR, R0
	MOVD	$SYS_EXIT, R8	// this thread only
	SVC
	BRK

gap:
	MOVD	$(BLOCKLEN+1), R5
	SUB	R3, R5, R5
	ADD	R5, R15, R15
	MOVD	(R20), R4	// HEAD: this thread's own
	LDAR	(R22), R5	// TAIL: the consumer is done with what is below
	SUB	R5, R4, R6
	CMP	R13, R6
	BHI	drop
	AND	R13, R4, R6
	ADD	R6<<4, R14, R6
	MOVD	R1, 0(R6)
	MOVD	R0, 8(R6)
	ADD	$1, R4, R4
	STLR	R4, (R20)
	B	next
drop:
	MOVD	DROPS(R19), R5
	ADD	$1, R5, R5
	MOVD	R5, DROPS(R19)
	MOVD	DROPTICKS(R19), R5
	ADD	R10, R5, R5
	MOVD	R5, DROPTICKS(R19)
	MOVD	DROPMAX(R19), R5
	CMP	R5, R10
	BLS	next
	MOVD	R10, DROPMAX(R19)
next:
	MOVD	R0, R1
	B	publish

	// A test has the thread sleep and stamp it by itself. R1 is the last read,
	// as before.
stall:
	MOVD	$CLOCK_MONOTONIC, R0
	MOVD	R1, R22		// the calls take R1; TAIL's address is made anew
	ADD	$STAMP0, R19, R1
	MOVD	$SYS_CLOCK_GETTIME, R8
	SVC
	ADD	$SLEEP, R19, R0
	MOVD	ZR, R1
	MOVD	$SYS_NANOSLEEP, R8
	SVC
	MOVD	$CLOCK_MONOTONIC, R0
	ADD	$STAMP1, R19, R1
	MOVD	$SYS_CLOCK_GETTIME, R8
	SVC
	MOVD	R22, R1
	ADD	$TAIL, R19, R22
	ADD	$STOP, R19, R5
	STLR	ZR, (R5)
	MOVD	R1, R11
	MOVD	$BLOCKLEN, R3
	B	loop
