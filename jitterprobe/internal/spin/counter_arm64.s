//go:build !noasm

#include "textflag.h"

// Run under an emulator, not on hardware so far.

// func Now() uint64
TEXT ·Now(SB), NOSPLIT, $0-8
	MRS	CNTVCT_EL0, R0
	MOVD	R0, ret+0(FP)
	RET

// func Spin(prev, threshold, n uint64) (left, last, now uint64)
TEXT ·Spin(SB), NOSPLIT, $0-48
	MOVD	prev+0(FP), R1
	MOVD	threshold+8(FP), R2
	MOVD	n+16(FP), R3
loop:
	MRS	CNTVCT_EL0, R0
	SUB	R1, R0, R4
	CMP	R2, R4
	BHS	gap
	MOVD	R0, R1
	SUBS	$1, R3, R3
	BNE	loop
	MOVD	ZR, left+24(FP)
	MOVD	R0, last+32(FP)
	MOVD	R0, now+40(FP)
	RET
gap:
	MOVD	R3, left+24(FP)
	MOVD	R1, last+32(FP)
	MOVD	R0, now+40(FP)
	RET
