#include "textflag.h"

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
