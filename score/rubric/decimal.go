package rubric

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// A Decimal is an exact number with at most four decimal places, counted in ten-thousandths. In JSON it
// is a plain number such as 3.35.
type Decimal int64

// unit is 1 as a Decimal, places the number of its decimal places.
const (
	unit   = 10_000
	places = 4
)

// Whole is n as a Decimal.
func Whole(n int) Decimal { return Decimal(n) * unit }

// Hundredths is n/100 as a Decimal.
func Hundredths(n int) Decimal { return Decimal(n) * (unit / 100) }

// ParseDecimal reads digits with an optional sign and fraction, without an exponent: "3", "-0.5", "4.25".
func ParseDecimal(text string) (Decimal, error) {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if whole == "" || point && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, &DecimalError{shown(text) + " is not a decimal number"}
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > places {
		return 0, &DecimalError{fmt.Sprintf("%s has more than %d decimal places", shown(text), places)}
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
	if err != nil {
		return 0, &DecimalError{shown(text) + " is too large"}
	}
	if len(digits) < len(text) {
		n = -n
	}
	return Decimal(n), nil
}

// A DecimalError is a text that is no Decimal.
type DecimalError struct{ Detail string }

func (e *DecimalError) Error() string { return e.Detail }

// shown quotes what came from outside, shortened.
func shown(text string) string {
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	return strconv.Quote(text)
}

// String has no more digits than the number needs: 3, 3.5, 3.35.
func (d Decimal) String() string { return string(d.Append(nil)) }

// Append appends what String says.
func (d Decimal) Append(b []byte) []byte {
	n := 0 // decimal places that are needed
	for rest := d % unit; rest != 0; rest = rest * 10 % unit {
		n++
	}
	return d.fixed(b, n)
}

// Fixed has exactly n decimal places, 0 to 4; what is beyond is rounded half up.
func (d Decimal) Fixed(n int) string { return string(DecimalRatio(d).Round(n).fixed(nil, n)) }

// fixed appends n decimal places and drops what is beyond.
func (d Decimal) fixed(b []byte, n int) []byte {
	u := uint64(d)
	if d < 0 {
		b, u = append(b, '-'), -u
	}
	b = strconv.AppendUint(b, u/unit, 10)
	if n == 0 {
		return b
	}
	b = append(b, '.')
	fraction := u % unit
	for range n {
		fraction *= 10
		b = append(b, byte('0'+fraction/unit))
		fraction %= unit
	}
	return b
}

// Float is the nearest floating-point number.
func (d Decimal) Float() float64 { return float64(d) / unit } // both are exact, the division rounds once

// Rat is the number as a fraction.
func (d Decimal) Rat() *big.Rat { return big.NewRat(int64(d), unit) }

// MarshalJSON writes a number.
func (d Decimal) MarshalJSON() ([]byte, error) { return d.Append(nil), nil }

// UnmarshalJSON reads a number; a string is refused.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	v, err := ParseDecimal(string(data))
	if err == nil {
		*d = v
	}
	return err
}

// A Ratio is an exact fraction of two integers, with a positive denominator.
type ratio struct{ num, den int64 }

// DecimalRatio is d as a Ratio.
func DecimalRatio(d Decimal) ratio { return ratio{int64(d), unit} }

// lowest is the fraction in lowest terms, which keeps later products small.
func lowest(num, den int64) ratio {
	a, b := num, den
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		a = -a
	}
	return ratio{num / a, den / a}
}

// small reports whether products of two such numbers fit 64 bits.
func small(n int64) bool { return n == int64(int32(n)) }

// Cmp is -1, 0 or +1 where r is less than, equal to or greater than s.
func (r ratio) Cmp(s ratio) int {
	if small(r.num) && small(r.den) && small(s.num) && small(s.den) {
		return cmp.Compare(r.num*s.den, s.num*r.den)
	}
	return r.Rat().Cmp(s.Rat())
}

// Float is the nearest floating-point number, or one beside it.
func (r ratio) Float() float64 { return float64(r.num) / float64(r.den) }

// Rat is the fraction for further arithmetic.
func (r ratio) Rat() *big.Rat { return big.NewRat(r.num, r.den) }

// Round rounds half up to n decimal places, 0 to 4.
func (r ratio) Round(n int) Decimal {
	scale := tens(n)
	if !small(r.num) || !small(r.den) {
		return RoundHalfUp(r.Rat(), n)
	}
	x, y := 2*r.num*scale+r.den, 2*r.den // ⌊num·scale/den + 1/2⌋ = ⌊x/y⌋
	q := x / y
	if x%y < 0 {
		q--
	}
	return Decimal(q * (unit / scale))
}

// tens is 10ⁿ for 0 to 4 places.
func tens(n int) int64 {
	scale := int64(1)
	for range min(max(n, 0), places) {
		scale *= 10
	}
	return scale
}

// RoundHalfUp rounds x to n decimal places, 0 to 4, halves upwards. It panics if x is beyond a Decimal.
func RoundHalfUp(x *big.Rat, n int) Decimal {
	scale := tens(n)
	// ⌊x·scale + 1/2⌋ = ⌊(2·num·scale + den) / (2·den)⌋
	num := new(big.Int).Mul(x.Num(), big.NewInt(2*scale))
	num.Add(num, x.Denom())
	q := new(big.Int)
	q.Div(num, new(big.Int).Lsh(x.Denom(), 1)) // Euclidean, and the divisor is positive: rounds down
	q.Mul(q, big.NewInt(unit/scale))
	if !q.IsInt64() {
		panic("rubric: number beyond a Decimal")
	}
	return Decimal(q.Int64())
}
