#include "textflag.h"

// func scoreAVX2(rows *row, n int, w *table, s *[4]float64)
// s += w[row.index]·row.value, row by row. n > 0.
TEXT ·scoreAVX2(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ w+16(FP), DI
	MOVQ s+24(FP), DX
	VMOVUPD (DX), Y0
scoreLoop:
	MOVL (SI), BX
	ANDL $1023, BX
	VBROADCASTSD (DI)(BX*8), Y1
	VCVTPS2PD 4(SI), Y2
	VMULPD Y1, Y2, Y2
	VADDPD Y2, Y0, Y0
	ADDQ $20, SI
	DECQ CX
	JNZ  scoreLoop
	VMOVUPD Y0, (DX)
	VZEROUPPER
	RET

// func gradientAVX2(rows *row, n int, d *[4]float64, by *table)
// by[row.index] += d[0]·row.value[0], then those of 1, 2 and 3, row by row. n > 0.
TEXT ·gradientAVX2(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ d+16(FP), DX
	MOVQ by+24(FP), DI
	VMOVUPD (DX), Y0
gradientLoop:
	MOVL (SI), BX
	ANDL $1023, BX
	VCVTPS2PD 4(SI), Y1
	VMULPD Y0, Y1, Y1
	VMOVSD (DI)(BX*8), X2
	VEXTRACTF128 $1, Y1, X3
	VUNPCKHPD X1, X1, X4
	VUNPCKHPD X3, X3, X5
	VADDSD X1, X2, X2
	VADDSD X4, X2, X2
	VADDSD X3, X2, X2
	VADDSD X5, X2, X2
	VMOVSD X2, (DI)(BX*8)
	ADDQ $20, SI
	DECQ CX
	JNZ  gradientLoop
	VZEROUPPER
	RET
