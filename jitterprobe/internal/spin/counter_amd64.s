//go:build !noasm

#include "textflag.h"

// func Now() uint64
TEXT ·Now(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+0(FP)
	RET

// func Spin(prev, threshold, n uint64) (left, last, now uint64)
TEXT ·Spin(SB), NOSPLIT, $0-48
	MOVQ	prev+0(FP), R8
	MOVQ	threshold+8(FP), R9
	MOVQ	n+16(FP), CX
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
	MOVQ	$0, left+24(FP)
	MOVQ	AX, last+32(FP)
	MOVQ	AX, now+40(FP)
	RET
gap:
	MOVQ	CX, left+24(FP)
	MOVQ	R8, last+32(FP)
	MOVQ	AX, now+40(FP)
	RET
