// Package numeric is floating-point arithmetic with bit-identical results on every machine.
//
// Three things make floating-point results differ between processors: fused multiply-add, the
// assembly versions of math.Log and math.Exp, and sums taken in another order. Here every product
// is rounded before it is added (the conversion float64(x*y) forbids fusing), logarithm and
// exponential are plain arithmetic, and sums run over fixed lanes in a fixed order:
//
//	lane l = x[l] + x[l+4] + x[l+8] + …      l = 0, 1, 2, 3
//	sum    = (lane 0 + lane 1) + (lane 2 + lane 3)
//
// All values that are stored, hashed or compared are computed with these functions.
package numeric

import "math"

// Sum adds x over four lanes.
func Sum(x []float64) float64 {
	var s [4]float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s[0] += x[i]
		s[1] += x[i+1]
		s[2] += x[i+2]
		s[3] += x[i+3]
	}
	for l := 0; i < len(x); i, l = i+1, l+1 {
		s[l] += x[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// Dot is Σ x[i]·y[i] over four lanes, in double precision. It panics if y is shorter than x.
func Dot[T float32 | float64](x, y []T) float64 {
	y = y[:len(x)]
	var s [4]float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s[0] += float64(float64(x[i]) * float64(y[i]))
		s[1] += float64(float64(x[i+1]) * float64(y[i+1]))
		s[2] += float64(float64(x[i+2]) * float64(y[i+2]))
		s[3] += float64(float64(x[i+3]) * float64(y[i+3]))
	}
	for l := 0; i < len(x); i, l = i+1, l+1 {
		s[l] += float64(float64(x[i]) * float64(y[i]))
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// Norm is the Euclidean length of x.
func Norm(x []float64) float64 { return math.Sqrt(Dot(x, x)) } // Sqrt is exact by IEEE 754

// Ln is the natural logarithm, within 1 ulp, by the reduction of W. J. Cody and the polynomial of
// the FreeBSD msun library (e_log.c): x = 2^k·(1+f), f in [√½-1, √2-1], s = f/(2+f),
// ln(1+f) = f - f²/2 + s·(f²/2 + R(s²)). Ln(0) is -Inf, Ln of a negative number NaN.
func Ln(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
		l1    = 6.666666666666735130e-01
		l2    = 3.999999999940941908e-01
		l3    = 2.857142874366239149e-01
		l4    = 2.222219843214978396e-01
		l5    = 1.818357216161805012e-01
		l6    = 1.531383769920937332e-01
		l7    = 1.479819860511658591e-01
	)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	m, ki := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		ki--
	}
	f, k := m-1, float64(ki)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	t1 := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	t2 := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	R := t1 + t2
	hfsq := float64(float64(0.5*f) * f)
	return float64(k*ln2Hi) - ((hfsq - (float64(s*(hfsq+R)) + float64(k*ln2Lo))) - f)
}

// Log2 is the logarithm to base 2; exact at powers of two.
func Log2(x float64) float64 {
	m, k := math.Frexp(x)
	if m == 0.5 {
		return float64(k - 1)
	}
	return float64(Ln(m)*(1/math.Ln2)) + float64(k)
}

// Exp is e^x, by the argument reduction and rational approximation of the FreeBSD msun library
// (e_exp.c). It overflows to +Inf above 709.78 and is 0 below -745.13.
func Exp(x float64) float64 {
	const (
		ln2Hi    = 6.93147180369123816490e-01
		ln2Lo    = 1.90821492927058770002e-10
		log2e    = 1.44269504088896338700e+00
		overflow = 7.09782712893383973096e+02
		tiny     = -7.45133219101941108420e+02
	)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x > overflow:
		return math.Inf(1)
	case x < tiny:
		return 0
	}
	k := 0
	if x < 0 {
		k = int(float64(log2e*x) - 0.5)
	} else if x > 0 {
		k = int(float64(log2e*x) + 0.5)
	}
	hi := x - float64(float64(k)*ln2Hi)
	lo := float64(float64(k) * ln2Lo)
	return expReduced(hi, lo, k)
}

// Exp2 is 2^x; exact at whole numbers.
func Exp2(x float64) float64 {
	x = max(-1100, min(x, 1100)) // beyond, the result is 0 or +Inf
	k := math.Round(x)
	return math.Ldexp(Exp(float64((x-k)*math.Ln2)), int(k))
}

// expReduced is e^(hi-lo)·2^k for |hi-lo| ≤ ln2/2.
func expReduced(hi, lo float64, k int) float64 {
	const (
		p1 = 1.66666666666666657415e-01
		p2 = -2.77777777770155933842e-03
		p3 = 6.61375632143793436117e-05
		p4 = -1.65339022054652515390e-06
		p5 = 4.13813679705723846039e-08
	)
	r := hi - lo
	t := float64(r * r)
	c := r - float64(t*(p1+float64(t*(p2+float64(t*(p3+float64(t*(p4+float64(t*p5)))))))))
	y := 1 - ((lo - float64(r*c)/(2-c)) - hi)
	if -1022 < k && k < 1024 { // y lies between ½ and 2, so nothing is rounded
		return y * math.Float64frombits(uint64(k+1023)<<52)
	}
	return math.Ldexp(y, k)
}

// Z95 and Z80 bound a standard normal variable: it lies between -Z95 and Z95 in 95 % of cases, and between -Z80 and Z80
// in 80 %. As one-sided bounds they hold in 97.5 % and 90 % of cases.
const (
	Z95 = 1.959963984540054
	Z80 = 1.2815515655446004
)

// WilsonLower is the lower bound of the Wilson interval of the proportion k/n, at z standard deviations. k and n may be
// sums of weights. Without observations it is 0.
func WilsonLower(k, n, z float64) float64 {
	if n <= 0 {
		return 0
	}
	p, z2 := k/n, float64(z*z)
	spread := float64(z * math.Sqrt(float64(p*(1-p))/n+z2/float64(4*float64(n*n))))
	return max(0, (p+z2/float64(2*n)-spread)/(1+z2/n))
}
