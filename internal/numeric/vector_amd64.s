#include "textflag.h"

// func axpyAVX2(a float64, x, y *float64, n int)
// n is a multiple of 4.
TEXT ·axpyAVX2(SB), NOSPLIT, $0-32
	VBROADCASTSD a+0(FP), Y0
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DI
	MOVQ n+24(FP), CX
	XORQ AX, AX
axpyLoop:
	CMPQ AX, CX
	JGE  axpyDone
	VMULPD (SI)(AX*8), Y0, Y1
	VADDPD (DI)(AX*8), Y1, Y1
	VMOVUPD Y1, (DI)(AX*8)
	ADDQ $4, AX
	JMP  axpyLoop
axpyDone:
	VZEROUPPER
	RET

// func spreadAVX2(index *int32, x *float64, n int, p *[8]float64, u *float64, rows int) (done int)
// u[index[k]] += x[k]·p, until a row is none of u.
TEXT ·spreadAVX2(SB), NOSPLIT, $0-56
	MOVQ index+0(FP), SI
	MOVQ x+8(FP), R8
	MOVQ n+16(FP), CX
	MOVQ p+24(FP), R9
	MOVQ u+32(FP), DI
	MOVQ rows+40(FP), DX
	VMOVUPD 0(R9), Y0
	VMOVUPD 32(R9), Y1
	XORQ AX, AX
spreadLoop:
	CMPQ AX, CX
	JGE  spreadDone
	MOVLQSX (SI)(AX*4), BX
	CMPQ BX, DX
	JAE  spreadDone
	SHLQ $6, BX
	VBROADCASTSD (R8)(AX*8), Y2
	VMULPD Y0, Y2, Y3
	VMULPD Y1, Y2, Y4
	VADDPD 0(DI)(BX*1), Y3, Y3
	VADDPD 32(DI)(BX*1), Y4, Y4
	VMOVUPD Y3, 0(DI)(BX*1)
	VMOVUPD Y4, 32(DI)(BX*1)
	INCQ AX
	JMP  spreadLoop
spreadDone:
	MOVQ AX, done+48(FP)
	VZEROUPPER
	RET

// func gatherAVX2(index *int32, x *float64, n int, u *float64, rows int, sum *[8]float64) (done int)
// sum = Σ x[k]·u[index[k]], until a row is none of u.
TEXT ·gatherAVX2(SB), NOSPLIT, $0-56
	MOVQ index+0(FP), SI
	MOVQ x+8(FP), R8
	MOVQ n+16(FP), CX
	MOVQ u+24(FP), DI
	MOVQ rows+32(FP), DX
	MOVQ sum+40(FP), R9
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	XORQ AX, AX
gatherLoop:
	CMPQ AX, CX
	JGE  gatherDone
	MOVLQSX (SI)(AX*4), BX
	CMPQ BX, DX
	JAE  gatherDone
	SHLQ $6, BX
	VBROADCASTSD (R8)(AX*8), Y2
	VMULPD 0(DI)(BX*1), Y2, Y3
	VMULPD 32(DI)(BX*1), Y2, Y4
	VADDPD Y3, Y0, Y0
	VADDPD Y4, Y1, Y1
	INCQ AX
	JMP  gatherLoop
gatherDone:
	VMOVUPD Y0, 0(R9)
	VMOVUPD Y1, 32(R9)
	MOVQ AX, done+48(FP)
	VZEROUPPER
	RET
