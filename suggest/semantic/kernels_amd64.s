#include "textflag.h"

// func cosines4AVX2(q, x0, x1, x2, x3 *float32, n int, out *[4]float32)
// out = q·x0 … q·x3, each (lane 0 + lane 1) + (lane 2 + lane 3). n is a multiple of 4. Two vectors
// share a register, one in each half.
TEXT ·cosines4AVX2(SB), NOSPLIT, $0-56
	MOVQ q+0(FP), SI
	MOVQ x0+8(FP), R8
	MOVQ x1+16(FP), R9
	MOVQ x2+24(FP), R10
	MOVQ x3+32(FP), R11
	MOVQ n+40(FP), CX
	MOVQ out+48(FP), DI
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	XORQ AX, AX
cos4Loop:
	CMPQ AX, CX
	JGE  cos4Done
	VBROADCASTF128 (SI)(AX*4), Y0
	VMOVUPS (R8)(AX*4), X3
	VINSERTF128 $1, (R9)(AX*4), Y3, Y3
	VMOVUPS (R10)(AX*4), X4
	VINSERTF128 $1, (R11)(AX*4), Y4, Y4
	VMULPS Y3, Y0, Y3
	VMULPS Y4, Y0, Y4
	VADDPS Y3, Y1, Y1
	VADDPS Y4, Y2, Y2
	ADDQ $4, AX
	JMP  cos4Loop
cos4Done:
	VHADDPS Y2, Y1, Y1 // half h: x0 a+b, x0 c+d, x2 a+b, x2 c+d
	VHADDPS Y1, Y1, Y1 // half h: x0, x2, x0, x2
	VEXTRACTF128 $1, Y1, X2
	VUNPCKLPS X2, X1, X1 // x0, x1, x2, x3
	VMOVUPS X1, (DI)
	VZEROUPPER
	RET

// func codesAVX2(q *int16, codes *int8, n, rows int, out *int32)
// out[i] = Σ q[j]·codes[i·n+j]. n is a multiple of 16.
TEXT ·codesAVX2(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), SI
	MOVQ codes+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ rows+24(FP), DX
	MOVQ out+32(FP), R8
codesRow:
	TESTQ DX, DX
	JZ    codesEnd
	VPXOR Y1, Y1, Y1
	XORQ AX, AX
codesLoop:
	CMPQ AX, CX
	JGE  codesDone
	VPMOVSXBW (DI)(AX*1), Y2
	VPMADDWD (SI)(AX*2), Y2, Y2
	VPADDD Y2, Y1, Y1
	ADDQ $16, AX
	JMP  codesLoop
codesDone:
	VEXTRACTI128 $1, Y1, X2
	VPADDD X2, X1, X1
	VPSHUFD $0x4E, X1, X2
	VPADDD X2, X1, X1
	VPSHUFD $0xB1, X1, X2
	VPADDD X2, X1, X1
	VMOVD X1, (R8)
	ADDQ $4, R8
	ADDQ CX, DI
	DECQ DX
	JMP  codesRow
codesEnd:
	VZEROUPPER
	RET
