package score

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// A Decimal is an exact number with at most four decimal places, stored in ten-thousandths. In JSON it is a plain
// number such as 3.35.
type Decimal int64

// unit is 1 as a Decimal, places the number of its decimal places.
const (
	unit   = 10_000
	places = 4
)

// Whole returns n as a Decimal.
func Whole(n int) Decimal { return Decimal(n) * unit }

// Hundredths returns n/100 as a Decimal.
func Hundredths(n int) Decimal { return Decimal(n) * (unit / 100) }

// isDecimal reports whether a text has the form of a decimal number with at most 14 digits before the point, so that it
// fits a Decimal. It uses no regular expression, because the rubrics of the program are decoded while package variables
// are initialised.
func isDecimal(text string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits := func(s string, most int) bool {
		return 0 < len(s) && len(s) <= most && strings.Trim(s, "0123456789") == ""
	}
	return digits(whole, 14) && (!point || digits(fraction, 40))
}

// ParseDecimal parses digits with an optional sign and fraction, without an exponent: "3", "-0.5", "4.25".
func ParseDecimal(text string) (Decimal, error) {
	if !isDecimal(text) {
		return 0, &DecimalError{quoted(text) + " is not a decimal number"}
	}
	x, _ := new(big.Rat).SetString(text) // the form permits no other text
	x.Mul(x, big.NewRat(unit, 1))
	if !x.IsInt() {
		return 0, &DecimalError{fmt.Sprintf("%s has more than %d decimal places", quoted(text), places)}
	}
	return Decimal(x.Num().Int64()), nil
}

// A DecimalError describes a text that is not a Decimal.
type DecimalError struct{ Detail string }

func (e *DecimalError) Error() string { return e.Detail }

// quoted returns third-party text in quotes, shortened to 60 bytes.
func quoted(text string) string {
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return strconv.Quote(text)
}

// String returns no more digits than the number needs: 3, 3.5, 3.35.
func (d Decimal) String() string {
	return strings.TrimSuffix(strings.TrimRight(d.Rat().FloatString(places), "0"), ".")
}

// Fixed returns the number with exactly n decimal places, 0 to 4, rounded half up.
func (d Decimal) Fixed(n int) string { return Round(d.Rat(), n).Rat().FloatString(n) }

// Float returns the nearest floating-point number.
func (d Decimal) Float() float64 { return float64(d) / unit }

// Rat returns the number as a fraction.
func (d Decimal) Rat() *big.Rat { return big.NewRat(int64(d), unit) }

// MarshalJSON writes a number.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a number. A string is an error.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return &DecimalError{"is a text; a number is needed"}
	}
	v, err := ParseDecimal(string(data))
	if err == nil {
		*d = v
	}
	return err
}

// Round rounds x half up to n decimal places, 0 to 4: ⌊x·10ⁿ + 1/2⌋ / 10ⁿ. x must be in the range of a Decimal.
func Round(x *big.Rat, n int) Decimal {
	scale := int64(1)
	for range n {
		scale *= 10
	}
	y := new(big.Rat).Mul(x, big.NewRat(scale, 1))
	y.Add(y, big.NewRat(1, 2))
	floor := new(big.Int).Div(y.Num(), y.Denom()) // the denominator is positive
	return Decimal(floor.Int64() * (unit / scale))
}
