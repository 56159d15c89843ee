#include "textflag.h"

// func rotateAVX2(x, y *float64, n int, c, s float64)
// x, y = c·x - s·y, s·x + c·y. n is a multiple of 4.
TEXT ·rotateAVX2(SB), NOSPLIT, $0-40
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DI
	MOVQ n+16(FP), CX
	VBROADCASTSD c+24(FP), Y0
	VBROADCASTSD s+32(FP), Y1
	XORQ AX, AX
rotateLoop:
	CMPQ AX, CX
	JGE  rotateDone
	VMOVUPD (SI)(AX*8), Y2
	VMOVUPD (DI)(AX*8), Y3
	VMULPD Y2, Y0, Y4
	VMULPD Y3, Y1, Y5
	VSUBPD Y5, Y4, Y4
	VMULPD Y2, Y1, Y6
	VMULPD Y3, Y0, Y7
	VADDPD Y7, Y6, Y6
	VMOVUPD Y4, (SI)(AX*8)
	VMOVUPD Y6, (DI)(AX*8)
	ADDQ $4, AX
	JMP  rotateLoop
rotateDone:
	VZEROUPPER
	RET

// func dot4AVX2(x, y0, y1, y2, y3 *float64, n int, lanes *[16]float64)
// The four lanes of x·y0, then of x·y1, … n is a multiple of 4.
TEXT ·dot4AVX2(SB), NOSPLIT, $0-56
	MOVQ x+0(FP), SI
	MOVQ y0+8(FP), R8
	MOVQ y1+16(FP), R9
	MOVQ y2+24(FP), R10
	MOVQ y3+32(FP), R11
	MOVQ n+40(FP), CX
	MOVQ lanes+48(FP), DI
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	XORQ AX, AX
dot4Loop:
	CMPQ AX, CX
	JGE  dot4Done
	VMOVUPD (SI)(AX*8), Y0
	VMULPD (R8)(AX*8), Y0, Y5
	VMULPD (R9)(AX*8), Y0, Y6
	VMULPD (R10)(AX*8), Y0, Y7
	VMULPD (R11)(AX*8), Y0, Y8
	VADDPD Y5, Y1, Y1
	VADDPD Y6, Y2, Y2
	VADDPD Y7, Y3, Y3
	VADDPD Y8, Y4, Y4
	ADDQ $4, AX
	JMP  dot4Loop
dot4Done:
	VMOVUPD Y1, 0(DI)
	VMOVUPD Y2, 32(DI)
	VMOVUPD Y3, 64(DI)
	VMOVUPD Y4, 96(DI)
	VZEROUPPER
	RET

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
