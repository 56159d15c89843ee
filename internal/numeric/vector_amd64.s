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

// func axpy4AVX2(a *[4]float64, x0, x1, x2, x3, y *float64, n int)
// y += a[0]·x0, then a[1]·x1, a[2]·x2, a[3]·x3. n is a multiple of 4.
TEXT ·axpy4AVX2(SB), NOSPLIT, $0-56
	MOVQ a+0(FP), BX
	VBROADCASTSD 0(BX), Y0
	VBROADCASTSD 8(BX), Y1
	VBROADCASTSD 16(BX), Y2
	VBROADCASTSD 24(BX), Y3
	MOVQ x0+8(FP), R8
	MOVQ x1+16(FP), R9
	MOVQ x2+24(FP), R10
	MOVQ x3+32(FP), R11
	MOVQ y+40(FP), DI
	MOVQ n+48(FP), CX
	XORQ AX, AX
axpy4Loop:
	CMPQ AX, CX
	JGE  axpy4Done
	VMULPD (R8)(AX*8), Y0, Y5
	VMULPD (R9)(AX*8), Y1, Y6
	VMULPD (R10)(AX*8), Y2, Y7
	VMULPD (R11)(AX*8), Y3, Y8
	VADDPD (DI)(AX*8), Y5, Y5
	VADDPD Y6, Y5, Y5
	VADDPD Y7, Y5, Y5
	VADDPD Y8, Y5, Y5
	VMOVUPD Y5, (DI)(AX*8)
	ADDQ $4, AX
	JMP  axpy4Loop
axpy4Done:
	VZEROUPPER
	RET

// func axpy32AVX2(a float64, x *float32, y *float64, n int)
// n is a multiple of 4.
TEXT ·axpy32AVX2(SB), NOSPLIT, $0-32
	VBROADCASTSD a+0(FP), Y0
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DI
	MOVQ n+24(FP), CX
	XORQ AX, AX
axpy32Loop:
	CMPQ AX, CX
	JGE  axpy32Done
	VCVTPS2PD (SI)(AX*4), Y1
	VMULPD Y1, Y0, Y1
	VADDPD (DI)(AX*8), Y1, Y1
	VMOVUPD Y1, (DI)(AX*8)
	ADDQ $4, AX
	JMP  axpy32Loop
axpy32Done:
	VZEROUPPER
	RET

// func syr4AVX2(a *[4]float64, x, h *float64, n int)
// h[k][j] += (a[0]·x0[k])·x0[j], then of x1, x2 and x3, for j from the multiple of 4 at or below k on. n is a
// multiple of 4.
TEXT ·syr4AVX2(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), BX
	MOVQ x+8(FP), R8
	MOVQ h+16(FP), DI
	MOVQ n+24(FP), CX
	LEAQ (R8)(CX*8), R9
	LEAQ (R9)(CX*8), R10
	LEAQ (R10)(CX*8), R11
	XORQ DX, DX
syr4Row:
	CMPQ DX, CX
	JGE  syr4Done
	VBROADCASTSD 0(BX), Y0
	VBROADCASTSD 8(BX), Y1
	VBROADCASTSD 16(BX), Y2
	VBROADCASTSD 24(BX), Y3
	VBROADCASTSD (R8)(DX*8), Y5
	VBROADCASTSD (R9)(DX*8), Y6
	VBROADCASTSD (R10)(DX*8), Y7
	VBROADCASTSD (R11)(DX*8), Y8
	VMULPD Y5, Y0, Y0
	VMULPD Y6, Y1, Y1
	VMULPD Y7, Y2, Y2
	VMULPD Y8, Y3, Y3
	MOVQ DX, AX
	ANDQ $-4, AX
syr4Loop:
	VMULPD (R8)(AX*8), Y0, Y5
	VMULPD (R9)(AX*8), Y1, Y6
	VMULPD (R10)(AX*8), Y2, Y7
	VMULPD (R11)(AX*8), Y3, Y8
	VADDPD (DI)(AX*8), Y5, Y5
	VADDPD Y6, Y5, Y5
	VADDPD Y7, Y5, Y5
	VADDPD Y8, Y5, Y5
	VMOVUPD Y5, (DI)(AX*8)
	ADDQ $4, AX
	CMPQ AX, CX
	JLT  syr4Loop
	LEAQ (DI)(CX*8), DI
	INCQ DX
	JMP  syr4Row
syr4Done:
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

// The constants of Exp, each for four lanes.
#define log2e expConst<>+0(SB)
#define half expConst<>+32(SB)
#define ln2Hi expConst<>+64(SB)
#define ln2Lo expConst<>+96(SB)
#define p1 expConst<>+128(SB)
#define p2 expConst<>+160(SB)
#define p3 expConst<>+192(SB)
#define p4 expConst<>+224(SB)
#define p5 expConst<>+256(SB)
#define one expConst<>+288(SB)
#define two expConst<>+320(SB)
#define far expConst<>+352(SB)
#define tiny expConst<>+384(SB)
#define sign expConst<>+416(SB)
#define bias expConst<>+448(SB)
DATA expConst<>+0(SB)/8, $1.44269504088896338700e+00
DATA expConst<>+8(SB)/8, $1.44269504088896338700e+00
DATA expConst<>+16(SB)/8, $1.44269504088896338700e+00
DATA expConst<>+24(SB)/8, $1.44269504088896338700e+00
DATA expConst<>+32(SB)/8, $0.5
DATA expConst<>+40(SB)/8, $0.5
DATA expConst<>+48(SB)/8, $0.5
DATA expConst<>+56(SB)/8, $0.5
DATA expConst<>+64(SB)/8, $6.93147180369123816490e-01
DATA expConst<>+72(SB)/8, $6.93147180369123816490e-01
DATA expConst<>+80(SB)/8, $6.93147180369123816490e-01
DATA expConst<>+88(SB)/8, $6.93147180369123816490e-01
DATA expConst<>+96(SB)/8, $1.90821492927058770002e-10
DATA expConst<>+104(SB)/8, $1.90821492927058770002e-10
DATA expConst<>+112(SB)/8, $1.90821492927058770002e-10
DATA expConst<>+120(SB)/8, $1.90821492927058770002e-10
DATA expConst<>+128(SB)/8, $1.66666666666666657415e-01
DATA expConst<>+136(SB)/8, $1.66666666666666657415e-01
DATA expConst<>+144(SB)/8, $1.66666666666666657415e-01
DATA expConst<>+152(SB)/8, $1.66666666666666657415e-01
DATA expConst<>+160(SB)/8, $-2.77777777770155933842e-03
DATA expConst<>+168(SB)/8, $-2.77777777770155933842e-03
DATA expConst<>+176(SB)/8, $-2.77777777770155933842e-03
DATA expConst<>+184(SB)/8, $-2.77777777770155933842e-03
DATA expConst<>+192(SB)/8, $6.61375632143793436117e-05
DATA expConst<>+200(SB)/8, $6.61375632143793436117e-05
DATA expConst<>+208(SB)/8, $6.61375632143793436117e-05
DATA expConst<>+216(SB)/8, $6.61375632143793436117e-05
DATA expConst<>+224(SB)/8, $-1.65339022054652515390e-06
DATA expConst<>+232(SB)/8, $-1.65339022054652515390e-06
DATA expConst<>+240(SB)/8, $-1.65339022054652515390e-06
DATA expConst<>+248(SB)/8, $-1.65339022054652515390e-06
DATA expConst<>+256(SB)/8, $4.13813679705723846039e-08
DATA expConst<>+264(SB)/8, $4.13813679705723846039e-08
DATA expConst<>+272(SB)/8, $4.13813679705723846039e-08
DATA expConst<>+280(SB)/8, $4.13813679705723846039e-08
DATA expConst<>+288(SB)/8, $1.0
DATA expConst<>+296(SB)/8, $1.0
DATA expConst<>+304(SB)/8, $1.0
DATA expConst<>+312(SB)/8, $1.0
DATA expConst<>+320(SB)/8, $2.0
DATA expConst<>+328(SB)/8, $2.0
DATA expConst<>+336(SB)/8, $2.0
DATA expConst<>+344(SB)/8, $2.0
DATA expConst<>+352(SB)/8, $708.0
DATA expConst<>+360(SB)/8, $708.0
DATA expConst<>+368(SB)/8, $708.0
DATA expConst<>+376(SB)/8, $708.0
DATA expConst<>+384(SB)/8, $-7.45133219101941108420e+02
DATA expConst<>+392(SB)/8, $-7.45133219101941108420e+02
DATA expConst<>+400(SB)/8, $-7.45133219101941108420e+02
DATA expConst<>+408(SB)/8, $-7.45133219101941108420e+02
DATA expConst<>+416(SB)/8, $0x8000000000000000
DATA expConst<>+424(SB)/8, $0x8000000000000000
DATA expConst<>+432(SB)/8, $0x8000000000000000
DATA expConst<>+440(SB)/8, $0x8000000000000000
DATA expConst<>+448(SB)/8, $1023
DATA expConst<>+456(SB)/8, $1023
DATA expConst<>+464(SB)/8, $1023
DATA expConst<>+472(SB)/8, $1023
GLOBL expConst<>(SB), RODATA|NOPTR, $480

// func expsAVX2(x *float64, n int, top float64) (done int)
// x = e^(x-top), four at a time, until one of the four has a result that is no normal number and not 0.
TEXT ·expsAVX2(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSD top+16(FP), Y15
	VMOVUPD sign, Y14
	VMOVUPD one, Y13
	SUBQ $4, CX
	XORQ AX, AX
expsLoop:
	CMPQ AX, CX
	JGT  expsDone
	VMOVUPD (SI)(AX*8), Y0
	VSUBPD Y15, Y0, Y0
	VANDNPD Y0, Y14, Y1           // |x|
	VCMPPD $2, far, Y1, Y1        // |x| ≤ 708
	VCMPPD $1, tiny, Y0, Y2       // x so small that the result is 0
	VORPD Y1, Y2, Y1
	VMOVMSKPD Y1, BX
	CMPL BX, $15
	JNE  expsDone
	VANDPD Y0, Y14, Y3
	VORPD half, Y3, Y3            // ½ with the sign of x
	VMULPD log2e, Y0, Y4
	VADDPD Y3, Y4, Y4
	VCVTTPD2DQY Y4, X4            // k
	VCVTDQ2PD X4, Y5
	VPMOVSXDQ X4, Y4
	VPADDQ bias, Y4, Y4
	VPSLLQ $52, Y4, Y4            // 2^k
	VMULPD ln2Hi, Y5, Y6
	VSUBPD Y6, Y0, Y6             // hi
	VMULPD ln2Lo, Y5, Y5          // lo
	VSUBPD Y5, Y6, Y7             // r
	VMULPD Y7, Y7, Y8             // t
	VMULPD p5, Y8, Y9
	VADDPD p4, Y9, Y9
	VMULPD Y8, Y9, Y9
	VADDPD p3, Y9, Y9
	VMULPD Y8, Y9, Y9
	VADDPD p2, Y9, Y9
	VMULPD Y8, Y9, Y9
	VADDPD p1, Y9, Y9
	VMULPD Y8, Y9, Y9
	VSUBPD Y9, Y7, Y9             // c
	VMULPD Y9, Y7, Y10
	VMOVUPD two, Y11
	VSUBPD Y9, Y11, Y11
	VDIVPD Y11, Y10, Y10          // r·c / (2-c)
	VSUBPD Y10, Y5, Y10
	VSUBPD Y6, Y10, Y10
	VSUBPD Y10, Y13, Y10
	VMULPD Y4, Y10, Y10
	VANDNPD Y10, Y2, Y10
	VMOVUPD Y10, (SI)(AX*8)
	ADDQ $4, AX
	JMP  expsLoop
expsDone:
	MOVQ AX, done+24(FP)
	VZEROUPPER
	RET
