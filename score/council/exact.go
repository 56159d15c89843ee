package council

import (
	"math"
	"math/big"
)

func mean(x []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, v := range x {
		sum.Add(sum, v)
	}
	return sum.Quo(sum, big.NewRat(int64(len(x)), 1))
}

// variance is the population variance.
func variance(x []*big.Rat) *big.Rat {
	m := mean(x)
	squares := make([]*big.Rat, len(x))
	for i, v := range x {
		d := new(big.Rat).Sub(v, m)
		squares[i] = d.Mul(d, d)
	}
	return mean(squares)
}

func float(x *big.Rat) float64 {
	f, _ := x.Float64()
	return f
}

// zScores are (x − mean) / deviation of x, all 0 if the deviation is below .001.
func zScores(x []*big.Rat) []float64 {
	m, sd := mean(x), math.Sqrt(float(variance(x)))
	z := make([]float64, len(x))
	if sd < .001 {
		return z
	}
	for i, v := range x {
		z[i] = float(new(big.Rat).Sub(v, m)) / sd
	}
	return z
}
